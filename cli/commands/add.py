"""``odf add``: new datasets from their manifests."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path
from typing import Annotated

import typer

from cli.bulk import run_each
from cli.commands.block import read_text
from cli.datasets import repository_at
from cli.ingests import instant_option, now_or
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line
from opendatafabric.chain.snapshot_blocks import blocks_from_snapshot
from opendatafabric.codec.yaml_codec import read_snapshots
from opendatafabric.dataset_ref import DatasetRef
from opendatafabric.did import DatasetId, new_dataset_id
from opendatafabric.instant import Instant
from opendatafabric.metadata.events import DatasetKind
from opendatafabric.metadata.snapshot import DatasetSnapshot
from storage.repositories import DatasetRepository
from storage.repository import DatasetEntry


def command(
    files: Annotated[list[Path], typer.Argument(metavar="SNAPSHOT.yaml", help="DatasetSnapshot manifests.")],
    system_time: Annotated[
        str | None, typer.Option("--system-time", metavar="T", help="When they are made, instead of now.")
    ] = None,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Make datasets from DatasetSnapshot manifests; a file may hold several parted by '---'.

    \b
    Example:
        odf add --repo my-repository examples/sources/airports.yaml
    """
    target, moment = asyncio.run(repository_at(repository)), now_or(instant_option(system_time))

    def add_file(file: Path) -> None:
        for snapshot in read_snapshots(read_text(file)):
            entry = asyncio.run(add_snapshot(target, snapshot, moment))
            if as_json:
                print_json({"file": str(file), "name": str(entry.alias), "id": str(entry.id)}, indent=None)
            else:
                print_line(f"{entry.alias}  {entry.id}")

    run_each(files, add_file, as_json=as_json)


async def add_snapshot(target: DatasetRepository, snapshot: DatasetSnapshot, system_time: Instant) -> DatasetEntry:
    """Create the dataset, write its first blocks, set its head.

    Raises:
        InvalidSnapshot, ChainError: the manifest makes no valid chain.
        InvalidQuery, IncompatibleSchema: its transform cannot be computed.
        DatasetNotFound: an input that is not in the repository.
        NameCollision: the name is taken.
    """
    dataset_id = new_dataset_id(secrets.token_bytes(32))
    known: dict[DatasetRef, DatasetId] = {}
    async for each in target.iterate():
        known[each.alias] = known[each.id] = each.id
    blocks = blocks_from_snapshot(
        snapshot,
        dataset_id=dataset_id,
        system_time=system_time,
        resolve_input=known.get,
    )
    if snapshot.kind is DatasetKind.DERIVATIVE:
        from cli.transform_checks import check_first_transform  # noqa: PLC0415 - roots need no engines

        await check_first_transform(blocks, target)
    entry = await target.create(snapshot.name, dataset_id)
    await entry.dataset.append(blocks, expected_head=None)
    return entry
