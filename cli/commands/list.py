"""``odf list``: the datasets of a repository."""

from __future__ import annotations

import asyncio

from cli.datasets import repository_at
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_table
from storage.repository import DatasetEntry

COLUMNS = ("NAME", "KIND", "BLOCKS", "UPDATED", "ID")


def command(repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """List the datasets of a repository by name.

    \b
    Example:
        odf list --repo my-repository
    """
    rows = asyncio.run(_rows(repository))
    if as_json:
        print_json(rows)
    else:
        cells = [(row["name"], row["kind"], str(row["blocks"]), row["updated_at"], row["id"]) for row in rows]
        print_table(COLUMNS, cells)


async def _rows(repository: str) -> list[dict[str, str]]:
    return [await _row(entry) async for entry in (await repository_at(repository)).iterate()]


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
