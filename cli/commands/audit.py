"""``odf audit``: what happened to the data besides pushes."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from catalog.audit import AuditEntry
from cli.catalogs import catalog_of
from cli.exit_codes import ExitCode
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_note, print_table
from repo_server.moments import moment

IS_GROUP = True
app = typer.Typer(
    help="""Read the audit trail: damage that was found, and what was healed.

\b
Example:
    odf audit list --repo my-repository
""",
    no_args_is_help=True,
)


@app.callback()
def _group() -> None:
    """Keeps ``list`` a command of its own."""


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
    if broken_at is not None:
        print_note(f"the trail is not as it was written, from entry {broken_at} on")
        raise typer.Exit(ExitCode.INVALID)


async def _read(repository: str, limit: int) -> tuple[list[AuditEntry], int | None]:
    async with catalog_of(repository) as catalog:
        return await catalog.audit.list(limit=limit), await catalog.audit.check()


def _cells(entry: AuditEntry) -> tuple[str, ...]:
    details = ", ".join(f"{name}: {value}" for name, value in entry.details.items())
    return moment(entry.at), entry.action, entry.subject, details
