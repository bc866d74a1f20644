"""Root datasets with a push source on a server, and engines for them without Java: Append asks nothing of Spark."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from catalog.datasets import DatasetRecord
from catalog.visibility import Visibility
from opendatafabric.chain.snapshot_blocks import blocks_from_snapshot
from opendatafabric.metadata.events import DatasetKind, MetadataEvent
from opendatafabric.metadata.snapshot import DatasetSnapshot
from pipeline.worker_place import JobFolders
from storage.dataset import Dataset
from tests.pipeline.datasets import csv_source, day
from tests.pipeline.local_engine import LocalEngine
from tests.repo_server.hosted import Answer, Hosted
from tests.storage.chains import dataset_id

CSV = b"city,population\nkyiv,3\nlviv,1\n"
CSV_TYPE = {"Content-Type": "text/csv"}


def engine_without_spark(root: Path) -> LocalEngine:
    """Runs jobs in this process; those that need a session fail."""
    return LocalEngine(root)


class HeldEngine:
    """Lets jobs begin, and go on when ``go`` is set."""

    def __init__(self, root: Path) -> None:
        self._inner = engine_without_spark(root)
        self.begun, self.go, self.cancelled = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @property
    def jobs_done(self) -> int:
        return self._inner.jobs_done

    def folders(self) -> AbstractContextManager[JobFolders]:
        return self._inner.folders()

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self.begun.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return await self._inner.run(job, arguments)


async def add_root(
    server: Hosted, name: str = "cities", *events: MetadataEvent, visibility: Visibility = Visibility.PUBLIC
) -> Dataset:
    """A dataset of alice's that takes cities as CSV, unless ``events`` say another source."""
    alias = server.alias(name)
    snapshot = DatasetSnapshot(alias, DatasetKind.ROOT, events or (csv_source(),))
    number = sum(map(ord, name))
    blocks = blocks_from_snapshot(
        snapshot, dataset_id=dataset_id(number), system_time=day(1), resolve_input=lambda _: None
    )
    entry = await server.repository.create(alias, dataset_id(number))
    record = DatasetRecord(dataset_id(number), entry.alias, server.accounts["alice"].id, visibility)
    await server.catalog.datasets.put(record)
    await entry.dataset.append(blocks, expected_head=None)
    return entry.dataset


async def push(
    server: Hosted,
    data: bytes = CSV,
    *,
    name: str = "cities",
    who: str | None = "alice",
    query: str = "",
    **headers: str,
) -> Answer:
    """``POST ingest``; headers with ``_`` for ``-``."""
    sent = CSV_TYPE | {key.replace("_", "-"): value for key, value in headers.items()}
    return await server.ask("POST", f"{server.path(name)}/ingest{query}", who=who, data=data, headers=sent)
