"""``odf list``: the datasets of a repository."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from cli.datasets import opened_repository
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_table
from storage.repository import DatasetEntry

COLUMNS = ("NAME", "KIND", "BLOCKS", "UPDATED", "ID")
FIELDS = ("name", "kind", "blocks", "updated_at", "id")


def command(
    verified: Annotated[
        bool, typer.Option("--verified", help="Also say how the verification of each stands, by its last report.")
    ] = False,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """List the datasets of a repository by name.

    \b
    Example:
        odf list --repo my-repository
        odf list --verified --repo my-repository
    """
    rows = asyncio.run(_rows_with_standing(repository) if verified else _rows(repository))
    if as_json:
        print_json(rows)
    else:
        shown = (*FIELDS, "verification") if verified else FIELDS
        print_table((*COLUMNS, "VERIFICATION")[: len(shown)], [[row[name] for name in shown] for row in rows])


async def _rows(repository: str) -> list[dict[str, str]]:
    async with opened_repository(repository) as root:
        return [await _row(entry) async for entry in root.iterate()]


async def _rows_with_standing(repository: str) -> list[dict[str, str]]:
    from cli.standings import standings_in  # noqa: PLC0415 - needs the catalog, which takes long to load

    rows = await _rows(repository)
    standings = await standings_in(repository, {row["id"]: row["head"] for row in rows})
    return [{**row, "verification": standings[row["id"]].value} for row in rows]


async def _row(entry: DatasetEntry) -> dict[str, str]:
    head = await entry.dataset.head()
    if head is None:  # deleted while we were reading
        return {"name": str(entry.alias), "kind": "", "blocks": "0", "updated_at": "", "id": str(entry.id), "head": ""}
    last = await entry.dataset.read_block(head)
    seed = await entry.dataset.seed()
    return {
        "name": str(entry.alias),
        "kind": seed.dataset_kind.name.capitalize(),
        "blocks": str(last.sequence_number + 1),
        "updated_at": str(last.block.system_time),
        "id": str(entry.id),
        "head": str(head),
    }
