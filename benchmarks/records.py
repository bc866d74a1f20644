"""Datasets of many records in a local folder, for benchmarks that read them back."""

from __future__ import annotations

import asyncio
import atexit
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

from opendatafabric.chain.snapshot_blocks import blocks_from_snapshot
from opendatafabric.data.arrow_schema import arrow_schema_to_odf
from opendatafabric.data.slice_format import system_fields
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import new_dataset_id
from opendatafabric.instant import Instant
from opendatafabric.metadata.events import AddPushSource, DatasetKind, SetDataSchema
from opendatafabric.metadata.snapshot import DatasetSnapshot
from opendatafabric.metadata.sources import MergeStrategyAppend, ReadStepCsv
from pipeline.commit import plan_commit, position_of, run_commit
from pipeline.ingest_request import IngestAnswer, RowCounts
from pipeline.slices import write_slice
from storage.dataset import Dataset
from storage.repository import Repository

SCHEMA = pa.schema([*system_fields(), ("city", pa.string()), ("population", pa.int64()), ("share", pa.float64())])
ALIAS = DatasetAlias.from_text("records")
_START = Instant.from_rfc3339("2024-01-01T00:00:00Z")
_MILLISECOND_OF_START = 1_704_067_200_000


def made_records(slices: int, rows: int) -> tuple[Dataset, Path]:
    """A dataset of so many slices of so many rows, in a folder that goes at the end."""
    root = Path(tempfile.mkdtemp(prefix="records-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    return asyncio.run(_made(root, slices, rows)), root


async def _made(root: Path, slices: int, rows: int) -> Dataset:
    source = AddPushSource("default", ReadStepCsv(), None, MergeStrategyAppend())
    snapshot, identity = DatasetSnapshot(ALIAS, DatasetKind.ROOT, (source,)), new_dataset_id(bytes(32))
    blocks = blocks_from_snapshot(snapshot, dataset_id=identity, system_time=_START, resolve_input=lambda _: None)
    dataset = (await Repository.init(root / "repository").create(ALIAS, identity)).dataset
    await dataset.append(blocks, expected_head=None)
    for number in range(slices):
        await _add(dataset, root / f"slice-{number}", rows)
    return dataset


async def _add(dataset: Dataset, path: Path, rows: int) -> None:
    position = await position_of(dataset)
    written = write_slice(_table(position.next_offset, rows), SCHEMA, path)
    schema = arrow_schema_to_odf(SCHEMA) if position.schema is None else None
    first = None if schema is None else SetDataSchema(raw_arrow_schema=None, schema=schema)
    answer = IngestAnswer(RowCounts(), first, written.data_slice(), None)
    await run_commit(dataset, plan_commit(position, answer, made=written.path, system_time=_START))


def _table(start: int, rows: int) -> pa.Table:
    offsets, chance = np.arange(start, start + rows), np.random.default_rng(start)
    times = pa.array(_MILLISECOND_OF_START + offsets, pa.int64())
    columns = [
        offsets,
        np.zeros(rows, np.int32),
        pa.array(np.full(rows, _MILLISECOND_OF_START), pa.int64()).cast(SCHEMA.field(2).type),
        times.cast(SCHEMA.field(3).type),
        pa.array(np.char.add("city-", chance.integers(0, 10_000, rows).astype(str))),
        chance.integers(0, 10_000_000, rows),
        chance.random(rows),
    ]
    return pa.table([pa.array(each).cast(field.type) for each, field in zip(columns, SCHEMA, strict=True)], SCHEMA)
