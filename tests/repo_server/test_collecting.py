"""The server collects garbage by itself."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from catalog.visibility import Visibility
from opendatafabric.errors import ObjectNotFound
from opendatafabric.layout import block_key, data_key
from repo_server.config import Tenancy
from repo_server.sweeping import collect_garbage
from tests.repo_server.hosted import LARGE, Hosted, a_chain, hash_of, hosted
from tests.suites.collecting import store_all
from tests.suites.dataset import stored_keys


async def test_garbage_goes_by_itself_and_what_is_published_stays(tmp_path: Path) -> None:
    async with hosted(tmp_path, Tenancy.MULTI, gc_interval_s=0.05, gc_grace_s=3_600) as server:
        entry = await server.add("open", a_chain())
        before = await stored_keys(entry.dataset)
        garbage = a_chain().fork(1)
        garbage.slices.clear()
        garbage.data(b"garbage")
        await store_all(entry.dataset, garbage)
        assert await stored_keys(entry.dataset) > before
        for path in entry.path.glob("*/f1620*"):
            os.utime(path, (0, 0))
        async with asyncio.timeout(20):
            while await stored_keys(entry.dataset) != before:
                await asyncio.wait([asyncio.ensure_future(asyncio.to_thread(lambda: None))], timeout=0.01)
        answer = await server.ask("GET", f"{server.path('open')}/refs/head")
        assert answer.text == str(a_chain().head)


async def share_between(server: Hosted) -> None:
    """A private dataset of alice's and one that bob may push to have a slice in common, stored once by now."""
    folder = (await server.add("secret", a_chain(1), Visibility.PRIVATE)).folder.parent
    await server.add("open", a_chain(2))
    names = [folder / a_chain(number).id.multibase / data_key(hash_of(LARGE, a_chain())) for number in (1, 2)]
    for path in names:
        os.utime(path, (0, 0))
    async with asyncio.timeout(20):
        while len({path.stat().st_ino for path in names}) > 1:
            await asyncio.wait([asyncio.ensure_future(asyncio.to_thread(lambda: None))], timeout=0.01)


async def test_what_is_shared_on_disk_is_shared_with_nobody_else(tmp_path: Path) -> None:
    async with hosted(tmp_path, Tenancy.MULTI, gc_interval_s=0.05, gc_grace_s=3_600) as server:
        await share_between(server)
        key = data_key(hash_of(LARGE, a_chain()))
        assert (await server.ask("GET", f"{server.path('open')}/{key}")).body == LARGE
        assert (await server.ask("GET", f"{server.path('secret')}/{key}", who="bob")).status in {403, 404}
        assert (await server.ask("GET", f"{server.path('secret')}/{key}", who="alice")).body == LARGE


async def test_knowing_the_hash_of_what_another_dataset_has_grants_nothing(tmp_path: Path) -> None:
    async with hosted(tmp_path, Tenancy.MULTI, gc_interval_s=0.05, gc_grace_s=3_600) as server:
        await share_between(server)
        without = a_chain(3)
        without.slices.clear()
        entry = await server.add_pending("mine", without, Visibility.PUBLIC)
        key = data_key(hash_of(LARGE, a_chain()))
        assert (await server.ask("GET", f"{server.path('mine')}/{key}", who="alice")).status == 404
        headers = {"Upload-Length": str(len(LARGE))}
        begun = await server.ask("POST", f"{server.path('mine')}/uploads/{key}", who="alice", headers=headers)
        assert begun.status == 201, "it is to be uploaded, though another dataset has it"
        with pytest.raises(ObjectNotFound):
            await entry.dataset.append(without.blocks, expected_head=None)


async def test_a_chain_that_was_replaced_stays_for_a_while_for_those_who_read_it_without_a_lease(
    tmp_path: Path,
) -> None:
    async with hosted(tmp_path, Tenancy.MULTI, gc_interval_s=0, gc_grace_s=3_600, reflog_kept_s=0) as server:
        entry = await server.add("open", a_chain())
        before = await stored_keys(entry.dataset)
        other = a_chain().fork(2)
        await entry.dataset.append([other.info("another way")], expected_head=a_chain().head, force=True)
        moved = {"expected_head": a_chain().head, "new_head": other.head}
        await server.catalog.datasets.log_move(entry.id, None, **moved)
        for path in entry.folder.glob("*/f1620*"):
            os.utime(path, (0, 0))
        services = services_of(server)
        await collect_garbage(services)
        assert before < await stored_keys(entry.dataset)
        services.now = lambda: time.time() + 3_601
        await collect_garbage(services)
        assert await stored_keys(entry.dataset) < before | {block_key(other.head)}


def services_of(server: Hosted) -> Any:
    """As much of the server as collecting needs."""

    async def written(_: object) -> None:
        pass

    return SimpleNamespace(
        settings=server.settings,
        repository=server.repository,
        catalog=server.catalog,
        now=time.time,
        audit=SimpleNamespace(written=written),
    )
