"""``odf audit``: who changed what; reading the log, checking it, and keeping it elsewhere."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from catalog.audit_chain import AuditEntry, ChainCheck, ChainPlace
from catalog.audit_files import archive, check_file, line_of
from cli.catalogs import catalog_of
from cli.durations import duration_s
from cli.exit_codes import ExitCode
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line, print_note, print_table
from opendatafabric.errors import MalformedInput
from opendatafabric.instant import Instant
from repo_server.moments import moment

IS_GROUP = True
app = typer.Typer(
    help="""Read, check and keep the audit log: every write, every refused one, and damage that was found.

\b
Example:
    odf audit list --repo my-repository
""",
    no_args_is_help=True,
)


@app.command("list")
def list_entries(
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="So many, the newest.")] = 100,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """The newest entries, newest first. Ends with 3 when an entry was changed or taken out.

    \b
    Example:
        odf audit list --limit 20 --repo my-repository
    """
    entries, broken_at = asyncio.run(_read(repository, limit))
    if as_json:
        print_json({"entries": [entry.as_dict() for entry in entries], "brokenAt": broken_at})
    else:
        print_table(("TIME", "WHAT", "WHERE", "DETAILS"), [_cells(entry) for entry in entries])
    _end_if_broken(broken_at)


@app.command()
def verify(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE", help="Archives or exports, the oldest first.")
    ] = None,
    head: Annotated[
        str | None,
        typer.Option("--head", metavar="N:HASH", help="An entry noted before: finds what was cut off at the end."),
    ] = None,
    files_only: Annotated[
        bool, typer.Option("--files-only", help="Check the files alone; the first may begin anywhere.")
    ] = False,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Check that the log is as it was written: nothing changed, taken out, put in or moved. Ends with 3 if not.

    Archives that are named are walked first, and must join the log.

    \b
    Example:
        odf audit verify --repo my-repository
        odf audit verify 2025.jsonl 2026.jsonl --repo my-repository
        odf audit verify export.jsonl --files-only
    """
    known = None if head is None else _place(head)
    check = asyncio.run(_checked(files or [], known, None if files_only else repository))
    newest = None if check.at is None else f"{check.at.id}:{check.at.hash}"
    if as_json:
        print_json({"entries": check.count, "head": newest, "brokenAt": check.broken_at})
    elif check.broken_at is None:
        print_line(f"{check.count} entries are as they were written, the newest is {newest}")
    _end_if_broken(check.broken_at)


@app.command()
def export(
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="From then on: 2026-01-31T00:00:00Z, or 30d ago.")
    ] = None,
    repository: RepositoryOption = ".",
    _as_json: AsJson = False,
) -> None:
    """Print entries as JSON, one a line, the oldest first. 'odf audit verify FILE' checks them.

    \b
    Example:
        odf audit export --since 30d --repo my-repository > log.jsonl
    """
    asyncio.run(_export(repository, 0.0 if since is None else _moment(since)))


@app.command("archive")
def archive_entries(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file for the entries.")],
    before: Annotated[
        str, typer.Option("--before", metavar="TIME", help="Older than that: 2026-01-31T00:00:00Z, or 90d ago.")
    ] = "90d",
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Move old entries out of the catalog into a file. The chain goes on behind it: keep the file to check it.

    \b
    Example:
        odf audit archive 2026.jsonl --before 90d --repo my-repository
    """
    count = asyncio.run(_archive(repository, file, _moment(before)))
    if as_json:
        print_json({"archived": count, "file": str(file) if count else None})
    else:
        print_line(f"{count} entries moved to {file}" if count else "no entries are that old")


async def _read(repository: str, limit: int) -> tuple[list[AuditEntry], int | None]:
    async with catalog_of(repository) as catalog:
        return await catalog.audit.list(limit=limit), await catalog.audit.check()


async def _checked(files: list[Path], known: ChainPlace | None, repository: str | None) -> ChainCheck:
    if repository is None:
        check = ChainCheck(None, known=known)
        _walk(files, check)
        check.finish()
        return check
    async with catalog_of(repository) as catalog:
        check = ChainCheck(known=known) if files else ChainCheck(await catalog.audit.archived(), known=known)
        _walk(files, check)
        await catalog.audit.check(check)
        return check


def _walk(files: list[Path], check: ChainCheck) -> None:
    for file in files:
        check_file(file, check)


async def _export(repository: str, since: float) -> None:
    async with catalog_of(repository) as catalog:
        async for page in catalog.audit.pages(since=since):
            sys.stdout.write("".join(f"{line_of(entry)}\n" for entry in page))
            sys.stdout.flush()


async def _archive(repository: str, file: Path, before: float) -> int:
    async with catalog_of(repository) as catalog:
        return await archive(catalog.audit, file, before=before)


def _moment(text: str) -> float:
    """A time in RFC 3339, or so long ago."""
    if "T" in text:
        return Instant.from_rfc3339(text).to_datetime().timestamp()
    return time.time() - duration_s(text)


def _place(text: str) -> ChainPlace:
    number, _, content_hash = text.partition(":")
    if not (number.isascii() and number.isdecimal() and len(number) < 19 and content_hash):
        raise MalformedInput(f"{text[:100]!r} is no entry", expected="N:HASH, as 'odf audit verify' prints it")
    return ChainPlace(int(number), content_hash)


def _end_if_broken(broken_at: int | None) -> None:
    if broken_at is not None:
        print_note(f"the audit log is not as it was written, from entry {broken_at} on")
        raise typer.Exit(ExitCode.INVALID)


def _cells(entry: AuditEntry) -> tuple[str, ...]:
    details = ", ".join(f"{name}: {value}" for name, value in entry.details.items())
    return moment(entry.at), entry.action, entry.subject, details
