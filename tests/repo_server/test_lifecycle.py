"""Deleting, renaming and giving away over HTTP: who may, what others see, and what a running transfer meets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest

from catalog.facts_refresh import refresh_facts
from catalog.roles import Role
from catalog.visibility import Visibility
from opendatafabric.errors import OdfError
from opendatafabric.metadata.events import DatasetKind, SetTransform
from opendatafabric.metadata.transform import TransformInput
from repo_server.app import running
from repo_server.config import Tenancy
from storage.dataset import Dataset
from sync.push import push_dataset
from sync.remote import parse_remote
from sync.transfer import TransferResult
from tests.pipeline.transform.derived import query_over
from tests.repo_server.hosted import Answer, Hosted, a_chain, hosted
from tests.storage.chains import ChainBuilder, dataset_id
from tests.sync.scenarios.stage import fill
from tests.sync.smart_server import memory_dataset

pytestmark = pytest.mark.slow


async def ask(server: Hosted, method: str, path: str, body: Any = None, **options: Any) -> Answer:
    data = None if body is None else orjson.dumps(body)
    headers = {**({} if body is None else {"Content-Type": "application/json"}), **options.pop("headers", {})}
    return await server.ask(method, path, who=options.get("who", "alice"), data=data, headers=headers)


async def delete(server: Hosted, name: str, query: str = "", *, who: str = "alice") -> Answer:
    head = (await server.ask("GET", f"{server.path(name)}/refs/head", who="root")).text
    return await ask(server, "DELETE", server.path(name) + query, who=who, headers={"If-Match": f'"{head}"'})


def told(answer: Answer) -> Any:
    return orjson.loads(answer.body)


async def status(server: Hosted, path: str, who: str | None) -> int:
    return (await server.ask("GET", path, who=who)).status


async def test_a_deleted_dataset_is_out_of_sight_at_once_and_comes_back(server: Hosted, chain: ChainBuilder) -> None:
    answer = await delete(server, "open")
    assert (answer.status, told(answer)["id"], told(answer)["forGood"]) == (200, str(chain.id), False)
    assert await status(server, server.path("open") + "/refs/head", "alice") == 404
    assert await status(server, f"/datasets/{chain.id}", "alice") == 404
    listed = told(await ask(server, "GET", "/system/deleted"))["deleted"]
    assert [each["name"] for each in listed] == [str(server.alias("open"))]
    back = await ask(server, "POST", f"/system/deleted/{chain.id}")
    assert (back.status, told(back)["name"]) == (200, str(server.alias("open")))
    assert (await server.ask("GET", server.path("open") + "/refs/head")).text == str(chain.head)


async def test_it_may_come_back_under_another_name(server: Hosted, chain: ChainBuilder) -> None:
    await delete(server, "open")
    assert (await ask(server, "POST", f"/system/deleted/{chain.id}", {"name": "secret"})).status == 409
    assert (await ask(server, "POST", f"/system/deleted/{chain.id}", {"name": "again"})).status == 200
    assert await status(server, server.path("again") + "/refs/head", None) == 200


@pytest.mark.parametrize(
    ("who", "expected"), [("bob", (403, 404)), (None, (403, 404)), ("alice", (200, 200)), ("root", (200, 200))]
)
async def test_who_may_delete(server: Hosted, chain: ChainBuilder, who: str | None, expected: tuple[int, int]) -> None:
    for name, code in zip(("open", "secret"), expected, strict=True):
        head = (await server.ask("GET", f"{server.path(name)}/refs/head", who="root")).text
        answer = await ask(server, "DELETE", server.path(name), who=who, headers={"If-Match": f'"{head}"'})
        assert answer.status == code


async def test_a_maintainer_may_neither_delete_nor_rename(server: Hosted, chain: ChainBuilder) -> None:
    await server.catalog.roles.grant(chain.id, server.accounts["bob"], Role.MAINTAINER)
    assert (await delete(server, "open", who="bob")).status == 403
    assert (await ask(server, "PATCH", server.path("open"), {"name": "mine"}, who="bob")).status == 403


async def test_a_deletion_names_the_head_that_is_there(server: Hosted, chain: ChainBuilder) -> None:
    path = server.path("open")
    assert (await ask(server, "DELETE", path)).status == 428
    stale = {"If-Match": f'"{chain.blocks[0].hash}"'}
    assert (await ask(server, "DELETE", path, headers=stale)).status == 412
    assert (await ask(server, "PATCH", path, {"name": "other"}, headers=stale)).status == 412
    assert await status(server, path + "/refs/head", None) == 200


async def test_what_is_deleted_is_seen_by_its_owner_and_administrators_alone(
    server: Hosted, chain: ChainBuilder
) -> None:
    await delete(server, "open")
    for who, code in (("bob", 404), ("alice", 204), ("root", 404)):
        assert (await ask(server, "DELETE", f"/system/deleted/{chain.id}", who=who)).status == code
    assert told(await ask(server, "GET", "/system/deleted", who="bob"))["deleted"] == []
    assert (await ask(server, "GET", "/system/deleted", who=None)).status == 401


async def test_it_may_be_deleted_for_good(server: Hosted, chain: ChainBuilder) -> None:
    assert (await delete(server, "open", "?forGood=true")).status == 200
    assert (await ask(server, "POST", f"/system/deleted/{chain.id}")).status == 404
    assert list(await server.repository.retired()) == []


async def test_what_depends_on_it_is_told_before(server: Hosted, chain: ChainBuilder) -> None:
    await server.catalog.roles.grant(chain.id, server.accounts["bob"], Role.READER)
    answer = await ask(server, "DELETE", server.path("open") + "?dryRun=true")
    plan = told(answer)
    assert (answer.status, plan["head"], plan["belongings"]["roles"]) == (200, str(chain.head), 1)
    assert (plan["derivatives"], plan["mirrors"]) == ([], 0)
    assert await status(server, server.path("open") + "/refs/head", None) == 200


async def test_an_old_name_says_what_became_of_it_to_those_who_may_see_that(
    server: Hosted, chain: ChainBuilder
) -> None:
    for name in ("open", "secret"):
        assert (await ask(server, "PATCH", server.path(name), {"name": f"new-{name}"})).status == 200
    for who, name, code in (
        (None, "open", 410),
        ("bob", "secret", 404),
        (None, "secret", 404),
        ("alice", "secret", 410),
    ):
        answer = await server.ask("GET", f"{server.path(name)}/reports", who=who)
        assert answer.status == code
        if code == 410:
            assert told(answer)["found"] == str(server.alias(f"new-{name}"))
            assert "renamed by alice at 2" in told(answer)["detail"]
        assert await status(server, f"{server.path(name)}/refs/head", who) == 404  # what clients of the reference know
    await delete(server, "new-open")
    answer = await server.ask("GET", f"{server.path('open')}/reports")
    assert answer.status == 410
    assert f"{server.alias('new-open')} was deleted by alice" in told(answer)["detail"]


async def test_a_renamed_dataset_is_the_same_under_its_new_name(server: Hosted, chain: ChainBuilder) -> None:
    answer = await ask(server, "PATCH", server.path("open"), {"name": "Other.Name"})
    assert told(answer) == {"id": str(chain.id), "name": str(server.alias("Other.Name"))}
    assert (await server.ask("GET", server.path("other.name") + "/refs/head")).text == str(chain.head)
    record = await server.catalog.datasets.find(chain.id)
    assert record is not None
    assert record.visibility is Visibility.PUBLIC


@pytest.mark.parametrize("name", ["../up", "a/b", "", "a b", "%2e%2e", "ﬀ", "a" * 3_000, ".hidden"])
async def test_a_name_that_is_none_is_refused(server: Hosted, chain: ChainBuilder, name: str) -> None:
    assert (await ask(server, "PATCH", server.path("open"), {"name": name})).status == 400
    assert await status(server, server.path("open") + "/refs/head", None) == 200


async def push(server: Hosted, name: str, chain: ChainBuilder, who: str) -> TransferResult:
    source: Dataset = memory_dataset()
    await fill(source, chain)
    target = parse_remote(f"odf+{server.url}{server.path(name)}")
    async with aiohttp.ClientSession() as session:
        return await push_dataset(session, source, target, token=server.tokens[who])


async def test_a_reserved_name_is_for_its_former_owner(tmp_path: Path) -> None:
    async with hosted(tmp_path, Tenancy.SINGLE) as server:
        await server.add("open", a_chain(1))
        await ask(server, "PATCH", server.path("open"), {"name": "moved"})
        with pytest.raises(OdfError):
            await push(server, "open", a_chain(2), "bob")
        assert await status(server, "/open/refs/head", "bob") == 404
        assert (await push(server, "open", a_chain(2), "alice")).new_head == a_chain(2).head


async def test_a_push_into_a_dataset_deleted_meanwhile_fails_and_leaves_it_as_it_was(
    server: Hosted, chain: ChainBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    longer = a_chain()
    longer.info("more")
    publish = Dataset.publish

    async def deleted_first(self: Dataset, *arguments: Any, **named: Any) -> None:
        if named.get("new_head") == longer.head and named["expected_head"] is not None:
            assert (await delete(server, "open")).status == 200
        await publish(self, *arguments, **named)

    monkeypatch.setattr(Dataset, "publish", deleted_first)
    with pytest.raises(OdfError):
        await push(server, "open", longer, "alice")
    await ask(server, "POST", f"/system/deleted/{chain.id}")
    assert (await server.ask("GET", server.path("open") + "/refs/head")).text == str(chain.head)


async def test_an_offered_dataset_is_taken_by_its_receiver_alone(server: Hosted, chain: ChainBuilder) -> None:
    secret = a_chain(2).id
    offered = await ask(server, "POST", server.path("secret") + "/transfer", {"to": "bob"})
    assert (offered.status, told(offered)["to"]) == (202, "bob")
    assert await status(server, server.path("secret") + "/refs/head", "bob") == 404
    assert [each["id"] for each in told(await ask(server, "GET", "/system/transfers", who="bob"))["transfers"]] == [
        str(secret)
    ]
    assert (await ask(server, "POST", f"/system/transfers/{secret}", who="alice")).status == 404
    taken = await ask(server, "POST", f"/system/transfers/{secret}", who="bob")
    assert (taken.status, told(taken)["name"]) == (200, str(server.alias("secret", "bob")))
    path = server.path("secret", "bob") + "/refs/head"
    assert [await status(server, path, who) for who in ("bob", "alice", None)] == [200, 404, 404]


async def test_an_offer_is_declined_or_withdrawn(server: Hosted, chain: ChainBuilder) -> None:
    path = server.path("open") + "/transfer"
    await ask(server, "POST", path, {"to": "bob"})
    assert (await ask(server, "DELETE", f"/system/transfers/{chain.id}", who="bob")).status == 204
    await ask(server, "POST", path, {"to": "bob"})
    assert (await ask(server, "DELETE", path)).status == 204
    assert (await ask(server, "POST", f"/system/transfers/{chain.id}", who="bob")).status == 404


async def test_an_administrator_gives_a_dataset_at_once(server: Hosted, chain: ChainBuilder) -> None:
    path, body = server.path("open") + "/transfer", {"to": "bob", "now": True}
    assert (await ask(server, "POST", path, body)).status == 403
    assert (await ask(server, "POST", path, body, who="root")).status == 200
    assert await status(server, server.path("open", "bob") + "/refs/head", None) == 200
    assert (
        await ask(server, "POST", server.path("open", "bob") + "/transfer", {"to": "nobody"}, who="bob")
    ).status == 404


async def test_two_servers_over_one_repository_agree_at_once(tmp_path: Path) -> None:
    async with hosted(tmp_path, Tenancy.MULTI) as first:
        await first.add("open", a_chain())
        async with running(first.settings) as url:
            second = replace(first, url=url)
            assert await status(second, "/alice/open/refs/head", None) == 200
            await delete(first, "open")
            assert await status(second, "/alice/open/refs/head", None) == 404
            await ask(second, "POST", f"/system/deleted/{a_chain().id}")
            assert await status(first, "/alice/open/refs/head", None) == 200
            await ask(second, "PATCH", "/alice/open", {"name": "other"})
            assert await status(first, "/alice/open/refs/head", None) == 404
            assert await status(first, "/alice/other/refs/head", None) == 200


async def test_of_what_is_derived_from_it_the_owner_is_told_what_he_may_see(
    server: Hosted, chain: ChainBuilder
) -> None:
    for number, (name, visibility) in enumerate((("seen", Visibility.PUBLIC), ("hidden", Visibility.PRIVATE)), start=7):
        made = ChainBuilder(dataset_id(number), DatasetKind.DERIVATIVE)
        made.add(SetTransform((TransformInput(chain.id, "it"),), query_over("select 1").transform))
        entry = await server.add(name, made, visibility)
        await server.catalog.datasets.set_owner(made.id, server.accounts["bob"])
        await refresh_facts(server.catalog.dataset_facts, made.id, entry.dataset)
    plan = told(await ask(server, "DELETE", server.path("open") + "?dryRun=true"))
    assert plan["derivatives"] == [str(server.alias("seen"))]
