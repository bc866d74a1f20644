"""``odf ingest``: data into a root dataset, from files or standard input."""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import aiohttp
import typer

from cli.datasets import is_address, is_server, locate, repository_at
from cli.ingests import instant_option, now_or, print_answer, print_outcome
from cli.meter import Meter
from cli.options import AsJson, RepositoryOption
from cli.progress import progress_bars
from cli.spark import spark_worker
from opendatafabric.dataset_ref import parse_dataset_ref
from opendatafabric.errors import NotFound, UnsupportedOperation
from opendatafabric.instant import Instant
from pipeline.ingest import Given, ingest
from pipeline.push_sources import media_type_of_format, push_source
from storage.progress import BYTES
from storage.repository import DatasetEntry
from sync.credentials import token_for
from sync.send_file import FileToSend, ingest_at_server


def command(
    ref: Annotated[str, typer.Argument(metavar="REF|URL", help="The dataset.")],
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
    fails, those before it stay. Nothing is added when nothing is new. For a dataset on a server (an address, or --repo
    with one) the files are sent there, going on where the line broke, and each enters once.

    \b
    Example:
        odf ingest us.faa.airports airports.csv
        cat airports.csv | odf ingest us.faa.airports - --system-time 2026-01-01T00:00:00Z
        odf ingest http://127.0.0.1:8080/alice/us.faa.airports airports.csv
    """
    options = _Options(source_name, input_format, instant_option(system_time), instant_option(event_time))
    at_server = is_address(ref) or is_server(repository)
    run = _there(ref, repository, options, as_json) if at_server else _here(ref, repository, options, as_json)
    for name in files:
        with _opened(name) as file:
            run(name, file)


@dataclass(frozen=True, slots=True)
class _Options:
    source_name: str | None
    input_format: str | None
    system_time: Instant | None
    event_time: Instant | None


Run = Callable[[str, Path], None]
"""Ingests the file at a path and prints what came of it; the name is what people call the file."""


def _here(ref: str, repository: str, options: _Options, as_json: bool) -> Run:
    """With the Spark worker of this machine."""

    async def find() -> DatasetEntry:
        return await (await repository_at(repository)).find(parse_dataset_ref(ref))

    entry, meter = asyncio.run(find()), Meter()
    engine = spark_worker(meter.told)

    def run(name: str, file: Path) -> None:
        given = Given(file, event_time=options.event_time, name="standard input" if name == "-" else name)
        ingesting = ingest(
            entry.dataset,
            engine,
            given,
            choose=lambda position: push_source(position.state, options.source_name, options.input_format),
            system_time=now_or(options.system_time),
        )
        with progress_bars() as meter.shown:
            meter.progress(BYTES, file.stat().st_size, file.stat().st_size)
            outcome = asyncio.run(ingesting)
        print_outcome(str(entry.alias), outcome, meter.lap(), file=name, as_json=as_json)

    return run


def _there(ref: str, repository: str, options: _Options, as_json: bool) -> Run:
    """By the server that has the dataset."""
    if options.system_time is not None:
        raise UnsupportedOperation("a server says itself when data are added", hint="leave --system-time out")
    located, meter = asyncio.run(locate(ref, repository)), Meter()
    media_type = None if options.input_format is None else media_type_of_format(options.input_format)
    event_time = None if options.event_time is None else str(options.event_time)

    async def send(file: Path) -> dict[str, Any]:
        given = FileToSend(file, options.source_name, media_type, event_time)
        token = token_for(located.location)
        async with aiohttp.ClientSession() as session:
            return await ingest_at_server(session, located.location, given, token=token, on_progress=meter.progress)

    def run(name: str, file: Path) -> None:
        with progress_bars() as meter.shown:
            answer = asyncio.run(send(file))
        print_answer(located.name, answer, meter.lap(), file=name, as_json=as_json)

    return run


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
