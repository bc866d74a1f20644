"""``odf sql``: a query over datasets."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import pyarrow as pa
import typer

from cli.datasets import is_server, opened
from cli.ingests import instant_option
from cli.options import AsAt, AsJson, AsOf, RepositoryOption, State
from cli.output import print_json, print_line, stdout_for_records
from cli.record_files import RecordFormat, format_of, new_file, write_records
from opendatafabric.dataset_ref import parse_dataset_ref
from opendatafabric.errors import UnsupportedOperation
from opendatafabric.limits import QUERY_MEMORY_BYTES_MAX
from opendatafabric.multihash import Multihash
from opendatafabric.query_proof import check_answer
from pipeline.query.prepare import Asked, prepare_query
from pipeline.query.process import running_query
from pipeline.query.request import USUAL_LIMITS, QueryLimits, QueryRequest
from storage.dataset import Dataset
from storage.records.state import Wanted
from sync.credentials import headers_for
from sync.server_queries import ARROW, JSON, ROWS_MAX, answer_into, check_at_server

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
    proof: Annotated[
        Path | None,
        typer.Option("--proof", metavar="FILE", dir_okay=False, help="Keep the answer here, signed by the server."),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option("--check", metavar="FILE", exists=True, help="Check a signed answer, and have it asked again."),
    ] = None,
    here: Annotated[
        bool, typer.Option("--here", help="Fetch the datasets of a server and compute here, not there.")
    ] = False,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Run SQL over the datasets of a repository, read only; a server is asked to run it.

    Tables are datasets by name or id, in double quotes unless the name is one plain word. They have all records, with
    their operations; to_table('NAME') has the state these lead to, and --state makes that of every table.

    \b
    Example:
        odf sql 'SELECT op, count(*) FROM "us.faa.airports" GROUP BY op'
        odf sql "SELECT city FROM to_table('us.faa.airports')" --as-at 2026-01-01T00:00:00Z -f csv
        odf sql --output airports.parquet < query.sql
        odf sql 'SELECT count(*) FROM "examples/us.faa.airports"' --repo http://127.0.0.1:8080 --proof answer.json
        odf sql --check answer.json --repo http://127.0.0.1:8080
    """
    if check is not None:
        _check(check, repository, as_json=as_json)
        return
    sql = sys.stdin.read() if query == "-" else query
    chosen = record_format or (RecordFormat.JSON if as_json else None) or (output and format_of(output))
    with stdout_for_records() if output is None else new_file(output) as sink:
        if is_server(repository) and not here:
            question = _question(sql, as_at, as_of, state, limit, at_block)
            _ask_server(question, repository, proof, chosen or RecordFormat.TABLE, sink)
        elif proof is not None:
            raise UnsupportedOperation("answers are signed by servers", hint="--repo URL, without --here")
        else:
            blocks = tuple(map(Multihash.from_text, at_block or ()))
            asked = Asked(blocks, instant_option(as_at), Wanted(state, instant_option(as_of)))
            limits = QueryLimits(memory * _MEBIBYTE, timeout, limit)
            _compute(sql, repository, asked, limits, chosen or RecordFormat.TABLE, sink)
    sys.stdout.flush()


def _compute(
    sql: str, repository: str, asked: Asked, limits: QueryLimits, record_format: RecordFormat, sink: BinaryIO
) -> None:
    with tempfile.TemporaryDirectory(prefix="odf-sql-") as folder:
        request = asyncio.run(_prepare(sql, repository, Path(folder), asked, limits))
        with running_query(request) as records:
            write_records(records.schema, records, record_format, sink)


def _question(
    sql: str, as_at: str | None, as_of: str | None, state: bool, limit: int | None, at_block: list[str] | None
) -> dict[str, Any]:
    if at_block:
        raise UnsupportedOperation("a server is not asked up to blocks from here", hint="--here, or POST /query")
    moments = {"asAt": instant_option(as_at), "asOf": instant_option(as_of)}
    given = {name: str(moment) for name, moment in moments.items() if moment is not None}
    return {"query": sql, "limit": ROWS_MAX if limit is None else limit, **given, **({"state": True} if state else {})}


def _ask_server(
    question: dict[str, Any], repository: str, proof: Path | None, record_format: RecordFormat, sink: BinaryIO
) -> None:
    with tempfile.TemporaryFile() as answer:
        if proof is None:
            asyncio.run(answer_into(answer, repository, question, accept=ARROW, headers=headers_for(repository)))
            with pa.ipc.open_stream(answer) as records:
                write_records(records.schema, records, record_format, sink)
            return
        proved = {**question, "include": ["Proof"]}
        asyncio.run(answer_into(answer, repository, proved, accept=JSON, headers=headers_for(repository)))
        raw = answer.read()
    check_answer(raw)
    with new_file(proof) as kept:
        kept.write(raw)
    records = pa.Table.from_pylist(json.loads(raw)["output"]["data"])
    write_records(records.schema, records.to_batches(), record_format, sink)


def _check(path: Path, repository: str, *, as_json: bool) -> None:
    raw = path.read_bytes()
    signer = check_answer(raw)
    if is_server(repository):
        asyncio.run(check_at_server(repository, raw, signer, headers_for(repository)))
    if as_json:
        print_json({"signer": signer, "askedAgain": is_server(repository)})
    else:
        again = "and it is answered so again" if is_server(repository) else "it was not asked again: --repo URL"
        print_line(f"the answer is what {signer} signed, {again}")


async def _prepare(sql: str, repository: str, folder: Path, asked: Asked, limits: QueryLimits) -> QueryRequest:
    async with AsyncExitStack() as open_datasets:

        async def catalogue(name: str) -> Dataset:
            parse_dataset_ref(name)  # no addresses, no folders
            return (await open_datasets.enter_async_context(opened(name, repository))).dataset

        return await prepare_query(sql, catalogue, folder, asked, limits=limits)
