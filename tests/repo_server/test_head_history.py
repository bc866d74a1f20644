"""Policies, reflog and undoing over HTTP: a push by force is refused, or undone with all that it replaced."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest

from catalog.roles import Role
from opendatafabric.errors import OdfError
from opendatafabric.layout import data_key
from repo_server.config import Tenancy
from storage.collect import collect
from storage.dataset import Dataset
from storage.head_policy import HeadPolicy, write_policy
from sync.push import push_dataset
from sync.remote import parse_remote
from sync.transfer import TransferOptions
from tests.repo_server.hosted import SMALL, Answer, Hosted, a_chain, hash_of, hosted
from tests.storage.chains import ChainBuilder, dataset_id
from tests.sync.scenarios.stage import fill
from tests.sync.smart_server import memory_dataset

pytestmark = pytest.mark.slow


def other_chain() -> ChainBuilder:
    found = ChainBuilder(dataset_id(1))
    found.info("another history")
    return found


async def ask(
    server: Hosted, method: str, path: str, body: Any = None, *, who: str | None = "alice", head: object = None
) -> Answer:
    headers = {} if body is None else {"Content-Type": "application/json"}
    if head is not None:
        headers["If-Match"] = f'"{head}"'
    data = None if body is None else orjson.dumps(body)
    return await server.ask(method, server.path("open") + path, who=who, data=data, headers=headers)


async def push(server: Hosted, chain: ChainBuilder, *, force: bool = False, who: str = "alice") -> None:
    source: Dataset = memory_dataset()
    await fill(source, chain)
    target = parse_remote(f"odf+{server.url}{server.path('open')}")
    async with aiohttp.ClientSession() as session:
        options = TransferOptions(force=force)
        await push_dataset(session, source, target, token=server.tokens[who], options=options)


async def head(server: Hosted) -> str:
    return (await server.ask("GET", server.path("open") + "/refs/head", who="root")).text


@pytest.mark.parametrize("policy", [{"appendOnly": True}, {"allowForce": False}])
async def test_a_push_by_force_is_refused_by_the_policy(
    server: Hosted, chain: ChainBuilder, policy: dict[str, bool]
) -> None:
    answer = await ask(server, "PUT", "/policy", policy)
    assert (answer.status, orjson.loads(answer.body)) == (
        200,
        {"appendOnly": False, "allowForce": True, "signedBy": None, **policy},
    )
    assert orjson.loads((await ask(server, "GET", "/policy", who=None)).body)["allowForce"] is policy.get(
        "allowForce", True
    )
    with pytest.raises(OdfError, match="the head only moves"):
        await push(server, other_chain(), force=True)
    assert await head(server) == str(chain.head)
    longer = a_chain()
    longer.info("more")
    await push(server, longer)
    assert await head(server) == str(longer.head)


async def test_without_a_policy_a_push_by_force_replaces_the_chain_and_is_undone(
    server: Hosted, chain: ChainBuilder
) -> None:
    await push(server, other_chain(), force=True)
    assert await head(server) == str(other_chain().head)
    moves = orjson.loads((await ask(server, "GET", "/reflog")).body)["moves"]
    assert (moves[0]["account"], moves[0]["expectedHead"], moves[0]["newHead"]) == (
        "alice",
        str(chain.head),
        str(other_chain().head),
    )
    answer = await ask(server, "POST", "/undo", head=other_chain().head)
    assert orjson.loads(answer.body) == {"oldHead": str(other_chain().head), "newHead": str(chain.head)}
    assert await head(server) == str(chain.head)
    again = await ask(server, "POST", "/undo", {"to": str(other_chain().head)}, head=chain.head)
    assert (again.status, await head(server)) == (200, str(other_chain().head))


async def test_an_undoing_is_refused_where_the_dataset_is_append_only(server: Hosted, chain: ChainBuilder) -> None:
    await push(server, other_chain(), force=True)
    await ask(server, "PUT", "/policy", {"appendOnly": True})
    assert (await ask(server, "POST", "/undo", head=other_chain().head)).status == 403
    await ask(server, "PUT", "/policy", {"allowForce": False})
    assert (await ask(server, "POST", "/undo", head=other_chain().head)).status == 200


async def test_an_undoing_names_the_head_that_is_there(server: Hosted, chain: ChainBuilder) -> None:
    await push(server, other_chain(), force=True)
    assert (await ask(server, "POST", "/undo")).status == 428
    assert (await ask(server, "POST", "/undo", head=chain.head)).status == 412
    strange = {"to": str(a_chain(2).head)}
    assert (await ask(server, "POST", "/undo", strange, head=other_chain().head)).status == 404
    assert (await ask(server, "POST", "/undo", {"to": "x"}, head=other_chain().head)).status == 400
    assert (await ask(server, "PUT", "/policy", {"appendOnly": "yes"})).status == 400
    assert await head(server) == str(other_chain().head)


async def test_what_was_collected_cannot_be_put_back(server: Hosted, chain: ChainBuilder) -> None:
    await push(server, other_chain(), force=True)
    dataset = (await server.repository.find(dataset_id(1))).dataset
    await dataset.writable_objects().delete(data_key(hash_of(SMALL, chain)))
    assert (await ask(server, "POST", "/undo", head=other_chain().head)).status == 404
    await collect(dataset, grace_s=-60)
    assert (await ask(server, "POST", "/undo", head=other_chain().head)).status == 404
    assert await head(server) == str(other_chain().head)


@pytest.mark.parametrize(
    ("role", "reflog", "undo"), [(Role.READER, 403, 403), (Role.WRITER, 200, 403), (Role.MAINTAINER, 200, 200)]
)
async def test_who_may_look_and_undo(server: Hosted, chain: ChainBuilder, role: Role, reflog: int, undo: int) -> None:
    await push(server, other_chain(), force=True)
    await server.catalog.roles.grant(dataset_id(1), server.accounts["bob"], role)
    assert (await ask(server, "GET", "/reflog", who="bob")).status == reflog
    assert (await ask(server, "PUT", "/policy", {}, who="bob")).status == undo
    assert (await ask(server, "POST", "/undo", who="bob", head=other_chain().head)).status == undo


async def test_a_policy_that_another_process_set_holds(tmp_path: Path) -> None:
    async with hosted(tmp_path, Tenancy.MULTI) as server:
        await server.add("open", a_chain())
        other = (await server.repository.find(dataset_id(1))).dataset
        await write_policy(other.writable_objects(), HeadPolicy(append_only=True))
        with pytest.raises(OdfError, match="the head only moves"):
            await push(server, other_chain(), force=True)
