"""``odf ingest``: data into a root dataset, from files or standard input."""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from cli.datasets import repository_at
from cli.ingests import instant_option, now_or, print_outcome
from cli.meter import Meter
from cli.options import AsJson, RepositoryOption
from cli.progress import progress_bars
from cli.spark import spark_worker
from opendatafabric.dataset_ref import parse_dataset_ref
from opendatafabric.errors import NotFound
from opendatafabric.instant import Instant
from pipeline.commit import Outcome
from pipeline.ingest import Engine, Given, ingest
from pipeline.push_sources import push_source
from storage.dataset import Dataset
from storage.progress import BYTES
from storage.repository import DatasetEntry


def command(
    ref: Annotated[str, typer.Argument(metavar="REF", help="The dataset.")],
    files: Annotated[list[str], typer.Argument(metavar="FILE...|-", help="Files, or - for standard input.")],
    source_name: Annotated[str | None, typer.Option("--source-name", metavar="NAME", help="Which push source.")] = None,
    input_format: Annotated[
        str | None, typer.Option("--input-format", metavar="FORMAT", help="csv, json, ndjson, geojson, parquet ...")
    ] = None,
    system_time: Annotated[
        str | None, typer.Option("--system-time", metavar="T", help="When it is added, instead of now.")
    ] = None,
    event_time: Annotated[
        str | None, typer.Option("--event-time", metavar="T", help="When records happened that do not say it.")
    ] = None,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Read files, compare them with what the dataset has, and add what is new.

    How they are read and merged is said by the push source of the dataset. Each file is a block of its own; if one
    fails, those before it stay. Nothing is added when nothing is new.

    \b
    Example:
        odf ingest us.faa.airports airports.csv
        cat airports.csv | odf ingest us.faa.airports - --system-time 2026-01-01T00:00:00Z
    """
    times = (instant_option(system_time), instant_option(event_time))
    entry = asyncio.run(_found(ref, repository))
    meter = Meter()
    engine = spark_worker(meter.told)
    for name in files:
        with _opened(name) as file, progress_bars() as meter.shown:
            meter.progress(BYTES, file.stat().st_size, file.stat().st_size)
            given = Given(file, event_time=times[1], name="standard input" if name == "-" else name)
            outcome = asyncio.run(_ingest(entry.dataset, engine, given, source_name, input_format, times[0]))
        print_outcome(str(entry.alias), outcome, meter.lap(), file=name, as_json=as_json)


async def _found(ref: str, repository: str) -> DatasetEntry:
    return await (await repository_at(repository)).find(parse_dataset_ref(ref))


async def _ingest(
    dataset: Dataset,
    engine: Engine,
    given: Given,
    source_name: str | None,
    input_format: str | None,
    system_time: Instant | None,
) -> Outcome:
    return await ingest(
        dataset,
        engine,
        given,
        choose=lambda position: push_source(position.state, source_name, input_format),
        system_time=now_or(system_time),
    )


@contextmanager
def _opened(name: str) -> Iterator[Path]:
    """The file, or a copy of standard input."""
    if name != "-":
        path = Path(name)
        if not path.is_file():
            raise NotFound(f"there is no file {name}")
        yield path
        return
    with tempfile.NamedTemporaryFile(prefix="odf-ingest-") as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
        copy.flush()
        yield Path(copy.name)
