"""The smart protocol over real sockets: who gets which answer to the handshake, and whole conversations."""

from __future__ import annotations

from pathlib import Path

import aiohttp
import pytest

from catalog.roles import Role
from catalog.scopes import Scope
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import AccessDenied, OdfError
from opendatafabric.limits import PACK_KEPT_BLOCKS_MIN
from opendatafabric.multihash import Multihash
from opendatafabric.names import AccountName
from storage.dataset import Dataset
from storage.memory import MemoryObjectStore, MemoryRefStore
from storage.repository import Repository
from sync.pull import pull_dataset
from sync.push import push_dataset
from sync.remote import RemoteLocation, parse_remote
from sync.transfer import RepositoryTarget, TransferOptions
from tests.repo_server.hosted import LARGE, SMALL, Answer, Hosted, a_chain, hash_of
from tests.storage.chains import ChainBuilder, dataset_id

BAD_TOKEN = "ka_" + "0" * 58
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    "x-odf-smtp-version": "1",
}


async def knock(server: Hosted, path: str, who: str | None = None, **changed: str | None) -> Answer:
    """A handshake by hand; ``changed`` headers replace those of a right one, ``None`` leaves one out."""
    renamed = {name.replace("_", "-").lower(): value for name, value in changed.items()}
    kept = {name: value for name, value in UPGRADE.items() if name.lower() not in renamed}
    headers = {**kept, **{name: value for name, value in renamed.items() if value is not None}}
    return await server.ask("GET", path, who=who, headers=headers)


@pytest.mark.parametrize(
    ("who", "dataset", "pull", "push"),
    [
        (None, "open", 101, 403),
        ("bob", "open", 101, 403),
        (BAD_TOKEN, "open", 401, 401),
        (None, "secret", 404, 401),
        ("alice", "secret", 101, 101),
        ("alice", "nothing", 404, 101),
        ("root", "nothing", 404, 101),
        (BAD_TOKEN, "nothing", 401, 401),
        (None, "nothing", 404, 401),
        ("alice", "a_b", 400, 400),
    ],
)
async def test_the_handshake_is_answered_by_the_table(
    shared: Hosted, shared_chain: ChainBuilder, who: str | None, dataset: str, pull: int, push: int
) -> None:
    prefix = "/alice" if shared.settings.multi_tenant else ""
    for verb, expected in (("pull", pull), ("push", push)):
        headers = {"x-odf-smtp-version": "1", **shared.as_(who)}
        try:
            url = f"{shared.url}{prefix}/{dataset}/{verb}"
            async with shared.session.ws_connect(url, headers=headers) as socket:
                status = 101
                assert socket.protocol is None
        except aiohttp.WSServerHandshakeError as error:
            status = error.status
        assert status == expected, verb


async def test_a_new_dataset_needs_a_known_caller(shared: Hosted) -> None:
    answer = await knock(shared, shared.path("nothing") + "/push")
    assert (answer.status, answer.body) == (401, b'{"message":"Unauthenticated"}')


async def test_nobody_makes_datasets_under_the_name_of_another(shared_multi: Hosted) -> None:
    answer = await knock(shared_multi, shared_multi.path("nothing") + "/push", "bob")
    assert (answer.status, answer.body) == (403, b'{"message":"Unauthorized"}')


async def test_a_reading_token_makes_no_datasets(shared: Hosted) -> None:
    answer = await knock(shared, shared.path("nothing") + "/push", await shared.token("alice", Scope.DATASETS_READ))
    assert answer.status == 403


@pytest.mark.parametrize("header", ["Connection", "Upgrade", "Sec-WebSocket-Version", "Sec-WebSocket-Key"])
async def test_a_handshake_without_a_header_is_told_which(
    shared: Hosted, shared_chain: ChainBuilder, header: str
) -> None:
    answer = await knock(shared, shared.path("open") + "/pull", **{header: None})
    assert answer.status == 400
    assert header.lower() in answer.text.lower()


@pytest.mark.parametrize("version", [None, "", "x", "1.0", "-1", "\u0661", "1" * 5_000])
async def test_a_version_that_is_no_number_is_refused(
    shared: Hosted, shared_chain: ChainBuilder, version: str | None
) -> None:
    answer = await knock(shared, shared.path("open") + "/pull", x_odf_smtp_version=version)
    assert answer.status == 400
    assert "x-odf-smtp-version" in answer.text


async def test_another_version_is_refused_after_the_caller_was_looked_at(
    shared: Hosted, shared_chain: ChainBuilder
) -> None:
    answer = await knock(shared, shared.path("open") + "/pull", x_odf_smtp_version="2")
    assert (answer.status, answer.body) == (400, b'{"message":"Incompatible client version"}')
    anonymous = await knock(shared, shared.path("nothing") + "/push", x_odf_smtp_version="2")
    assert anonymous.status == 401


def location(server: Hosted, name: str, account: str = "alice") -> RemoteLocation:
    return parse_remote(f"odf+{server.url}{server.path(name, account)}")


async def local_dataset(chain: ChainBuilder) -> Dataset:
    """All of ``chain`` in memory."""
    objects, refs = MemoryObjectStore(), MemoryRefStore()
    for name, content in chain.slices.items():
        await objects.put(f"data/{name}", content)
    dataset = Dataset(objects, refs)
    await dataset.append(chain.blocks, expected_head=None)
    return dataset


async def push(
    server: Hosted, chain: ChainBuilder, name: str, who: str = "alice", options: TransferOptions | None = None
) -> Multihash | None:
    result = await push_dataset(
        server.session,
        await local_dataset(chain),
        location(server, name),
        token=server.tokens[who],
        options=options or TransferOptions(),
    )
    return result.new_head


@pytest.mark.parametrize("visibility", ["Private", "Public"])
async def test_a_push_makes_a_dataset_of_the_caller(server: Hosted, visibility: str) -> None:
    chain = a_chain()
    options = TransferOptions(visibility="Public" if visibility == "Public" else "Private")
    assert await push(server, chain, "new", options=options) == chain.head
    path = server.path("new")
    expected = 200 if visibility == "Public" else 404
    assert (await server.ask("GET", path + "/refs/head")).status == expected
    assert (await server.ask("GET", path + "/refs/head", who="alice")).text == str(chain.head)
    for content in (SMALL, LARGE):
        answer = await server.ask("GET", f"{path}/data/{hash_of(content, chain)}", who="alice")
        assert answer.body == content
    record = await server.catalog.datasets.find(chain.id)
    assert record is not None
    assert record.owner_id == server.accounts["alice"].id
    assert record.visibility is Visibility(visibility.lower())


async def test_a_writer_of_an_account_makes_datasets_that_are_the_accounts(multi: Hosted) -> None:
    alice, chain = multi.accounts["alice"], a_chain()
    team = await multi.catalog.teams.set(alice, AccountName("helpers"), [multi.accounts["bob"]])
    await multi.catalog.roles.grant(alice.id, team, Role.READER)
    with pytest.raises(AccessDenied):
        await push(multi, chain, "new", who="bob")
    await multi.catalog.roles.grant(alice.id, team, Role.WRITER)
    assert await push(multi, chain, "new", who="bob") == chain.head
    record = await multi.catalog.datasets.find(chain.id)
    assert record is not None
    assert record.owner_id == alice.id
    await multi.catalog.roles.grant(alice.id, team, None)
    assert (await multi.ask("GET", multi.path("new") + "/refs/head", who="bob")).status == 404


async def test_a_push_is_written_in_the_reflog(server: Hosted) -> None:
    chain = a_chain()
    await push(server, chain, "new")
    [move] = await server.catalog.datasets.moves(chain.id)
    assert (move.account_id, move.expected_head, move.new_head) == (
        str(server.accounts["alice"].id),
        None,
        str(chain.head),
    )


async def test_a_second_push_continues_the_first(server: Hosted) -> None:
    chain = a_chain()
    await push(server, chain, "new")
    chain.data(b"another slice")
    assert await push(server, chain, "new") == chain.head
    assert (await server.ask("GET", server.path("new") + "/refs/head", who="alice")).text == str(chain.head)


async def test_a_dataset_that_lies_here_under_another_name_is_not_made_again(
    server: Hosted, chain: ChainBuilder
) -> None:
    with pytest.raises(OdfError):
        await push(server, chain, "twin")
    assert (await server.ask("GET", server.path("twin") + "/refs/head", who="alice")).status == 404


async def test_pushing_to_the_dataset_of_another_is_refused(server: Hosted, chain: ChainBuilder) -> None:
    chain.info("more")
    with pytest.raises(AccessDenied):
        await push(server, chain, "open", who="bob")


@pytest.mark.parametrize("who", [None, "bob", "alice"])
async def test_a_public_dataset_is_pulled_whole(
    shared: Hosted, shared_chain: ChainBuilder, tmp_path: Path, who: str | None
) -> None:
    repository = Repository.init(tmp_path / "mine")
    target = RepositoryTarget(repository, DatasetAlias.from_text("copy"))
    token = None if who is None else shared.tokens[who]
    result = await pull_dataset(shared.session, location(shared, "open"), target, token=token)
    assert result.new_head == shared_chain.head
    entry = await repository.find(DatasetAlias.from_text("copy"))
    assert await entry.dataset.missing_objects([]) == []
    for name, content in shared_chain.slices.items():
        assert await entry.dataset.objects.read(f"data/{name}") == content


async def test_the_answer_to_a_long_pull_is_kept_and_a_damaged_one_made_again(server: Hosted, tmp_path: Path) -> None:
    builder = ChainBuilder(dataset_id(9))
    for number in range(PACK_KEPT_BLOCKS_MIN):
        builder.info(str(number))
    await server.add("long", builder)
    for attempt in range(3):
        pulled = await pull_dataset(
            server.session,
            location(server, "long"),
            RepositoryTarget(Repository.init(tmp_path / str(attempt)), DatasetAlias.from_text("long")),
        )
        assert pulled.new_head == builder.head
        (kept,) = server.settings.packs_path.iterdir()
        kept.write_bytes(kept.read_bytes()[: -attempt or None])
