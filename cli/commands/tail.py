"""``odf tail``: the last records of a dataset."""

from __future__ import annotations

import asyncio
import io
from typing import Annotated, Any

import pyarrow
import pyarrow.parquet
import typer

from cli.datasets import opened
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_note, print_table
from opendatafabric.chain.objects import ObjectFile, objects_of
from opendatafabric.data.changelog import OperationType
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.errors import HashMismatch, MalformedData
from opendatafabric.layout import data_key
from opendatafabric.limits import TAIL_SLICE_BYTES_MAX
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import AddData, ExecuteTransform, SetVocab
from opendatafabric.multihash import Multihash, physical_hash
from storage.dataset import Dataset


def command(
    ref: Annotated[str, typer.Argument(metavar="REF|DIR|URL", help="The dataset.")],
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many records.")] = 10,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Print the last records of a dataset, oldest of them first.

    The operation is shown as +A (append), -R (retract), -C and +C (correct from, correct to).

    \b
    Example:
        odf tail examples/us.faa.airports -n 5
    """
    rows, vocabulary = asyncio.run(_last_records(ref, repository, count))
    if as_json:
        print_json(rows)
    elif not rows:
        print_note("the dataset has no records yet")
    else:
        columns = list(rows[0])
        cells = [[_cell(name, row[name], vocabulary) for name in columns] for row in rows]
        print_table(columns, cells)


async def _last_records(ref: str, repository: str, count: int) -> tuple[list[dict[str, Any]], DatasetVocabulary]:
    async with opened(ref, repository) as found:
        slices, vocabulary = await _last_slices(found.dataset, found.head, count)
        tables = [_read_slice(file, await _read_object(found.dataset, file)) for file in slices]
    rows: list[dict[str, Any]] = []
    for table in reversed(tables):
        rows.extend(table.to_pylist())
    return rows[-count:], vocabulary


async def _last_slices(dataset: Dataset, head: Multihash, count: int) -> tuple[list[ObjectFile], DatasetVocabulary]:
    """The newest slices that together hold ``count`` records, newest first, and the names of the system columns."""
    slices: list[ObjectFile] = []
    vocabulary: DatasetVocabulary | None = None
    records = 0
    async for batch in dataset.walk(head):
        for block in batch:
            if isinstance(block.event, SetVocab) and vocabulary is None:
                vocabulary = DatasetVocabulary.from_event(block.event)
            if records < count and (found := _slice_of(block)) is not None:
                file, file_records = found
                slices.append(file)
                records += file_records
    return slices, vocabulary or DatasetVocabulary()


def _slice_of(block: HashedBlock) -> tuple[ObjectFile, int] | None:
    """The slice that ``block`` adds and the number of its records."""
    event = block.event
    if not isinstance(event, AddData | ExecuteTransform) or event.new_data is None:
        return None
    interval = event.new_data.offset_interval
    return objects_of(block)[0], interval.end - interval.start + 1


async def _read_object(dataset: Dataset, file: ObjectFile) -> bytes:
    data = await dataset.objects.read(data_key(file.physical_hash), size_max=TAIL_SLICE_BYTES_MAX)
    if physical_hash(data) != file.physical_hash:
        raise HashMismatch("a data slice is damaged", expected=file.physical_hash, found=physical_hash(data))
    return data


def _read_slice(file: ObjectFile, data: bytes) -> pyarrow.Table:
    try:
        return pyarrow.parquet.read_table(io.BytesIO(data))
    except pyarrow.ArrowException as error:
        raise MalformedData(f"{data_key(file.physical_hash)} is no readable Parquet file: {error}") from error


def _cell(column: str, value: Any, vocabulary: DatasetVocabulary) -> str:
    if column == vocabulary.operation_type_column and value in iter(OperationType):
        return OperationType(value).symbol
    return "" if value is None else str(value)
