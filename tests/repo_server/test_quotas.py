"""Quotas over HTTP: refused before anything is sent, with the numbers; and everybody sees what they have."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest

from catalog.amounts import Amounts, Quota
from catalog.scopes import Scope
from opendatafabric.errors import OdfError
from repo_server.config import Tenancy
from storage.stored_amount import stored_amount
from tests.repo_server.hosted import LARGE, SMALL, Hosted, a_chain, hash_of, hosted
from tests.repo_server.test_smart import push
from tests.storage.chains import ChainBuilder

pytestmark = pytest.mark.slow

JSON = {"Content-Type": "application/json"}


@pytest.fixture
async def narrow(tmp_path: Path) -> AsyncIterator[Hosted]:
    """Two megabytes, three objects and one dataset for each account."""
    quotas = {"quota_account_bytes": 2_000_000, "quota_account_objects": 3, "quota_account_datasets": 1}
    async with hosted(tmp_path, Tenancy.MULTI, **quotas) as server:
        yield server


async def used(server: Hosted, account: str = "alice") -> Amounts:
    return await server.catalog.quotas.of_account(server.accounts[account].id)


async def settled(server: Hosted, expected: Amounts) -> None:
    """Once what was not sure has been measured."""
    async with asyncio.timeout(30):
        while await server.catalog.quotas.to_measure() or await used(server) != expected:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def stored(server: Hosted) -> Amounts:
    amounts = [await stored_amount(entry.dataset) async for entry in server.repository.iterate(include_pending=True)]
    return Amounts(sum(each.bytes for each in amounts), sum(each.objects for each in amounts), len(amounts))


async def test_a_push_counts_exactly_and_is_seen_by_its_owner(narrow: Hosted) -> None:
    chain = a_chain()
    await push(narrow, chain, "new")
    assert await used(narrow) == await stored(narrow)
    assert await narrow.catalog.quotas.to_measure() == []
    told = orjson.loads((await narrow.ask("GET", "/accounts/me/usage", who="alice")).body)
    assert told["used"] == (await stored(narrow)).as_dict()
    assert told["quota"] == {"bytes": 2_000_000, "objects": 3, "datasets": 1}
    assert (await narrow.ask("GET", "/accounts/me/usage")).status == 401


async def test_a_push_that_needs_too_much_is_refused_with_the_numbers_before_anything_is_sent(narrow: Hosted) -> None:
    chain = a_chain()
    await push(narrow, chain, "new")
    before = await stored(narrow)
    chain.data(LARGE + b"another")
    with pytest.raises(OdfError, match=r"quota: 1\.0 MiB needed, \d+\.\d KiB left"):
        await push(narrow, chain, "new")
    assert await stored(narrow) == before
    assert await used(narrow) == before


async def test_one_object_or_dataset_too_many_is_refused(narrow: Hosted) -> None:
    chain = a_chain()
    await push(narrow, chain, "new")
    with pytest.raises(OdfError, match="1 datasets needed, 0 datasets left"):
        await push(narrow, a_chain(2), "second")
    for number in range(2):
        chain.data(b"small %d" % number)
    with pytest.raises(OdfError, match="2 objects needed, 1 objects left"):
        await push(narrow, chain, "new")


async def test_an_administrator_lets_an_account_have_more(narrow: Hosted) -> None:
    await push(narrow, a_chain(), "new")
    body = orjson.dumps({"datasets": 5})
    assert (await narrow.ask("PUT", "/accounts/alice/quota", who="alice", data=body, headers=JSON)).status == 403
    root = await narrow.token("root", Scope.ADMIN)
    answer = await narrow.ask("PUT", "/accounts/alice/quota", who=root, data=body, headers=JSON)
    assert orjson.loads(answer.body)["quota"] == {"bytes": 2_000_000, "objects": 3, "datasets": 5}
    seen = orjson.loads((await narrow.ask("GET", "/accounts/alice/usage", who=root)).body)
    assert seen["quota"]["datasets"] == 5
    wrong = await narrow.ask("PUT", "/accounts/alice/quota", who=root, data=b'{"bytes": -1}', headers=JSON)
    assert wrong.status == 400


async def test_an_object_without_a_push_needs_room_by_its_length(narrow: Hosted) -> None:
    chain = a_chain()
    await push(narrow, chain, "new")
    await narrow.catalog.quotas.set(
        narrow.accounts["alice"].id, Quota(bytes=(await stored(narrow)).bytes + 10, objects=0)
    )
    large, small = ChainBuilder(chain.id), ChainBuilder(chain.id)
    large.data(b"eleven bytes")
    small.data(b"ten bytes")
    [too_large], [fits] = large.slices, small.slices
    refused = await narrow.ask("PUT", f"/alice/new/data/{too_large}", who="alice", data=b"eleven bytes")
    assert (refused.status, orjson.loads(refused.body)["code"]) == (403, "quota-exceeded")
    assert (await narrow.ask("PUT", f"/alice/new/data/{fits}", who="alice", data=b"ten bytes")).status == 200
    same = await narrow.ask("PUT", f"/alice/new/data/{hash_of(SMALL, chain)}", who="alice", data=SMALL)
    assert same.status == 200
    await settled(narrow, await stored(narrow))


async def test_an_upload_needs_room_from_its_beginning_and_gives_it_back(narrow: Hosted) -> None:
    chain = a_chain()
    await push(narrow, chain, "new")
    before = await stored(narrow)
    another = ChainBuilder(chain.id)
    another.data(LARGE)
    [name] = another.slices
    path = f"/alice/new/uploads/data/{str(name)[:-1]}0"
    too_large = await narrow.ask("POST", path, who="alice", headers={"Upload-Length": "2000000"})
    assert (too_large.status, orjson.loads(too_large.body)["code"]) == (403, "quota-exceeded")
    begun = await narrow.ask("POST", path, who="alice", headers={"Upload-Length": "900000"})
    assert begun.status == 201
    assert (await used(narrow)).bytes == before.bytes + 900_000
    assert (await narrow.ask("DELETE", begun.headers["Location"], who="alice")).status == 204
    assert await used(narrow) == before
