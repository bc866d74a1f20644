"""Datasets with records on a server that is asked about them, in a folder of its own."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from catalog.datasets import DatasetRecord
from catalog.visibility import Visibility
from opendatafabric.chain.snapshot_blocks import blocks_from_snapshot
from opendatafabric.metadata.events import DatasetKind, MetadataEvent
from opendatafabric.metadata.snapshot import DatasetSnapshot
from storage.dataset import Dataset
from tests.pipeline.datasets import day
from tests.pipeline.reading.histories import PAST, SCHEMA, Row, add, source
from tests.repo_server.hosted import Answer, Hosted
from tests.storage.chains import dataset_id


async def add_cities(
    server: Hosted,
    folder: Path,
    *events: MetadataEvent,
    name: str = "cities",
    past: Mapping[int, list[Row]] = PAST,
    schema: pa.Schema = SCHEMA,
    visibility: Visibility = Visibility.PUBLIC,
) -> Dataset:
    """A dataset of alice's with a past."""
    alias, identity = server.alias(name), dataset_id(number_of(name))
    snapshot = DatasetSnapshot(alias, DatasetKind.ROOT, events or (source(),))
    blocks = blocks_from_snapshot(snapshot, dataset_id=identity, system_time=day(1), resolve_input=lambda _: None)
    entry = await server.repository.create(alias, identity)
    await server.catalog.datasets.put(DatasetRecord(identity, entry.alias, server.accounts["alice"].id, visibility))
    await entry.dataset.append(blocks, expected_head=None)
    (folder / name).mkdir()
    for on, rows in past.items():
        await add(entry.dataset, folder / name, rows, on=on, schema=schema)
    return entry.dataset


def number_of(name: str) -> int:
    """Tells datasets from each other."""
    return zlib.crc32(name.encode()) % 65_521


def plain(answer: Answer) -> Any:
    """The JSON of an answer that is no error."""
    assert answer.status == 200, answer.text
    return orjson.loads(answer.body)
