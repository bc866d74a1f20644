"""``odf tail``: the last records of a dataset."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer

from cli.datasets import opened
from cli.ingests import instant_option
from cli.options import AsAt, AsJson, AsOf, AtBlock, RepositoryOption, State
from cli.output import print_json, print_note, print_table
from cli.records import cell, operation_cell
from opendatafabric.metadata.slices import DataSlice
from opendatafabric.multihash import Multihash
from pipeline.reading.text_values import json_rows, text_rows
from storage.dataset import Dataset
from storage.records.moment import KnownRecords, Moment, known_records
from storage.records.records import records
from storage.records.slice_files import place_slice
from storage.records.state import Wanted


def command(
    ref: Annotated[str, typer.Argument(metavar="REF|DIR|URL", help="The dataset.")],
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many records.")] = 10,
    at_block: AtBlock = None,
    as_at: AsAt = None,
    as_of: AsOf = None,
    state: State = False,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Print the last records of a dataset, oldest of them first.

    The operation is shown as +A (append), -R (retract), -C and +C (correct from, correct to).

    \b
    Example:
        odf tail examples/us.faa.airports -n 5
        odf tail us.faa.airports --state --as-at 2024-01-01T00:00:00Z
    """
    moment = Moment(None if at_block is None else Multihash.from_text(at_block), instant_option(as_at))
    wanted = Wanted(state, instant_option(as_of))
    found, operation = asyncio.run(_last_records(ref, repository, moment, wanted, count))
    if as_json:
        print_json(list(json_rows(found)))
    elif not found.num_rows:
        print_note("there are no records")
    else:
        shows = [operation_cell if name == operation else cell for name in found.schema.names]
        rows = [[show(value) for show, value in zip(shows, row, strict=True)] for row in text_rows(found)]
        print_table(found.schema.names, rows)


async def _last_records(ref: str, repository: str, moment: Moment, wanted: Wanted, count: int) -> tuple[pa.Table, str]:
    """Those, and what the column of operations is called."""
    async with opened(ref, repository) as found:
        known = await known_records(found.dataset, moment)
        if wanted.is_changelog:
            known = _last_slices(known, count)
        with tempfile.TemporaryDirectory(prefix="odf-tail-") as folder:
            paths = {each: Path(folder) / str(each.physical_hash) for each in known.slices}
            await _place(found.dataset, paths)
            table = pa.Table.from_batches(records(known, paths.__getitem__, wanted), known.schema)
    return table.slice(max(0, table.num_rows - count)), known.vocabulary.operation_type_column


async def _place(dataset: Dataset, paths: dict[DataSlice, Path]) -> None:
    for data_slice, path in paths.items():
        await place_slice(dataset, data_slice, path)


def _last_slices(known: KnownRecords, count: int) -> KnownRecords:
    """Only the newest slices that together hold so many records."""
    sizes = accumulate(len(each.offset_interval) for each in reversed(known.slices))
    needed = next((number for number, size in enumerate(sizes, 1) if size >= count), len(known.slices))
    return replace(known, slices=known.slices[len(known.slices) - needed :])
