"""``odf sql``: a query over datasets."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated

import typer

from cli.datasets import opened
from cli.ingests import instant_option
from cli.options import AsAt, AsJson, AsOf, RepositoryOption, State
from cli.output import stdout_for_records
from cli.record_files import RecordFormat, format_of, new_file, write_records
from opendatafabric.dataset_ref import parse_dataset_ref
from opendatafabric.limits import QUERY_MEMORY_BYTES_MAX
from opendatafabric.multihash import Multihash
from pipeline.query.prepare import Asked, prepare_query
from pipeline.query.process import running_query
from pipeline.query.request import USUAL_LIMITS, QueryLimits, QueryRequest
from pipeline.reading.state import Wanted
from storage.dataset import Dataset

_MEBIBYTE = 1024 * 1024


def command(
    query: Annotated[str, typer.Argument(metavar="QUERY|-", help="SQL; without it, what standard input has.")] = "-",
    at_block: Annotated[
        list[str] | None,
        typer.Option("--at-block", metavar="HASH", help="Only what its chain said up to this block; may come again."),
    ] = None,
    as_at: AsAt = None,
    as_of: AsOf = None,
    state: State = False,
    record_format: Annotated[
        RecordFormat | None, typer.Option("--format", "-f", help="By default what --output is called, or a table.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", dir_okay=False, help="Write the result to this file.")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=0, help="At most so many rows of the result.")] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", min=0, help="Longest time.")
    ] = USUAL_LIMITS.time_s,
    memory: Annotated[int, typer.Option("--memory", metavar="MIB", min=1, help="Most memory.")] = QUERY_MEMORY_BYTES_MAX
    // _MEBIBYTE,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Run SQL over the datasets of a repository, read only.

    Tables are datasets by name or id, in double quotes unless the name is one plain word. They have all records, with
    their operations; to_table('NAME') has the state these lead to, and --state makes that of every table.

    \b
    Example:
        odf sql 'SELECT op, count(*) FROM "us.faa.airports" GROUP BY op'
        odf sql "SELECT city FROM to_table('us.faa.airports')" --as-at 2026-01-01T00:00:00Z -f csv
        odf sql --output airports.parquet < query.sql
    """
    asked = Asked(
        tuple(map(Multihash.from_text, at_block or ())),
        instant_option(as_at),
        Wanted(state, instant_option(as_of)),
    )
    limits = QueryLimits(memory * _MEBIBYTE, timeout, limit)
    chosen = record_format or (RecordFormat.JSON if as_json else None) or (output and format_of(output))
    sql = sys.stdin.read() if query == "-" else query
    with tempfile.TemporaryDirectory(prefix="odf-sql-") as folder:
        request = asyncio.run(_prepare(sql, repository, Path(folder), asked, limits))
        with (
            running_query(request) as records,
            stdout_for_records() if output is None else new_file(output) as sink,
        ):
            write_records(records.schema, records, chosen or RecordFormat.TABLE, sink)
    sys.stdout.flush()


async def _prepare(sql: str, repository: str, folder: Path, asked: Asked, limits: QueryLimits) -> QueryRequest:
    async with AsyncExitStack() as open_datasets:

        async def catalogue(name: str) -> Dataset:
            parse_dataset_ref(name)  # no addresses, no folders
            return (await open_datasets.enter_async_context(opened(name, repository))).dataset

        return await prepare_query(sql, catalogue, folder, asked, limits=limits)
