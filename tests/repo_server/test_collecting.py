"""The server collects garbage by itself."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from repo_server.config import Tenancy
from tests.repo_server.hosted import a_chain, hosted
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
