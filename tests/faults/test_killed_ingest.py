"""The server process dies at every step that its stores make during an ingest over HTTP, before it and after it.

Each time the same request is sent to the next server: there is one block more, whether or not the first got so far.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

import aiohttp
import pytest

from catalog.catalog import open_catalog
from catalog.datasets import DatasetRecord
from catalog.visibility import Visibility
from opendatafabric.chain.snapshot_blocks import blocks_from_snapshot
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.metadata.events import AddData, DatasetKind
from opendatafabric.metadata.snapshot import DatasetSnapshot
from opendatafabric.names import AccountName
from repo_server.config import Settings
from storage.repository import Repository
from tests.faults.test_killed_at_every_step import (
    STEPS_MAX,
    Served,
    Zygote,
    assert_only_garbage,
    new_repository,
    operations,
    serving,
)
from tests.faults.test_killed_at_every_step import zygote as zygote  # noqa: PLC0414  a fixture
from tests.pipeline.datasets import blocks_of, csv_source, day
from tests.repo_server.ingested import CSV, CSV_TYPE
from tests.storage.chains import dataset_id

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ALIAS = DatasetAlias.from_text("alice/cities")


async def repository_with_cities(folder: Path) -> str:
    """A repository in which alice has a dataset that takes cities; a token of hers."""
    token = await new_repository(folder)
    snapshot = DatasetSnapshot(ALIAS, DatasetKind.ROOT, (csv_source(),))
    blocks = blocks_from_snapshot(snapshot, dataset_id=dataset_id(), system_time=day(1), resolve_input=lambda _: None)
    entry = await Repository.open(folder).create(ALIAS, dataset_id())
    await entry.dataset.append(blocks, expected_head=None)
    async with open_catalog(Settings(repo=folder).database_url) as catalog:
        alice = await catalog.accounts.find_or_create(AccountName("alice"))
        await catalog.datasets.put(DatasetRecord(dataset_id(), ALIAS, alice.id, Visibility.PUBLIC))
    return token


async def push(server: Served, token: str) -> tuple[int, bytes]:
    headers = CSV_TYPE | {"Authorization": f"Bearer {token}", "Idempotency-Key": "one"}
    url = f"{server.address}/{ALIAS}/ingest"
    async with aiohttp.ClientSession() as session, session.post(url, data=CSV, headers=headers) as response:
        return response.status, await response.read()


async def slices_in(folder: Path) -> int:
    await assert_only_garbage(folder)
    blocks = await blocks_of((await Repository.open(folder).find(ALIAS)).dataset)
    return sum(isinstance(block.event, AddData) for block in blocks)


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_request_that_is_repeated_enters_once(tmp_path: Path, zygote: Zygote, moment: str) -> None:
    token = await repository_with_cities(tmp_path / "before")
    for strike_at in range(1, STEPS_MAX):
        place, first = tmp_path / str(strike_at), None
        shutil.copytree(tmp_path / "before", place)
        async with serving(zygote, place, strike_at, moment) as server:
            with suppress(aiohttp.ClientError):
                first = await push(server, token)
        assert await slices_in(place) in {0, 1}
        async with serving(zygote, place) as next_server:
            again = await push(next_server, token)
        assert again[0] == 200
        assert await slices_in(place) == 1
        if len(server.steps) < strike_at:
            assert first == again
            assert operations(server.steps) >= {"quarantine", "publish", "put_many", "compare_and_swap"}
            return
    raise AssertionError("no server survived")
