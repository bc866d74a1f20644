"""``odf set-transform``: another query for a derivative, from the next step on."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from cli.commands.block import read_text
from cli.datasets import repository_at
from cli.ingests import instant_option, now_or
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line
from cli.transform_checks import check_own_transform
from opendatafabric.chain.snapshot_blocks import transform_in
from opendatafabric.codec.yaml_codec import read_snapshots
from opendatafabric.dataset_ref import DatasetAlias, parse_dataset_ref
from opendatafabric.errors import InvalidSnapshot
from opendatafabric.instant import Instant
from opendatafabric.metadata.events import SetTransform
from opendatafabric.metadata.snapshot import DatasetSnapshot
from opendatafabric.multihash import Multihash
from pipeline.commit import append_event, position_of
from pipeline.transform.plan import transform_of
from storage.repositories import DatasetRepository


def command(
    ref: Annotated[str, typer.Argument(metavar="REF", help="The derivative.")],
    file: Annotated[Path, typer.Argument(metavar="SNAPSHOT.yaml", help="A manifest with its new SetTransform.")],
    system_time: Annotated[
        str | None, typer.Option("--system-time", metavar="T", help="When it is set, instead of now.")
    ] = None,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Give a derivative the transform of a DatasetSnapshot manifest; it counts from the next step on.

    It is looked at before: its result keeps the columns that the dataset has, and may have more; its inputs stay, and
    may become more at the end. The transform that is in force already makes no block.

    \b
    Example:
        odf set-transform seattle-weather.fahrenheit weather-f.yaml
    """
    snapshot = _one([*read_snapshots(read_text(file))], file)
    alias, head, changed = asyncio.run(_set(ref, repository, snapshot, now_or(instant_option(system_time))))
    if as_json:
        print_json({"name": str(alias), "changed": changed, "head": str(head)})
    else:
        print_line(f"{alias}: {f'head {head}' if changed else 'up to date'}")


def _one(snapshots: list[DatasetSnapshot], file: Path) -> DatasetSnapshot:
    if len(snapshots) != 1:
        raise InvalidSnapshot(f"{file} has several manifests", expected="one", found=len(snapshots))
    return snapshots[0]


async def _set(
    ref: str, repository: str, snapshot: DatasetSnapshot, system_time: Instant
) -> tuple[DatasetAlias, Multihash, bool]:
    target = await repository_at(repository)
    entry = await target.find(parse_dataset_ref(ref))
    position = await position_of(entry.dataset)
    before = transform_of(position)
    transform = await _transform_in(snapshot, target)
    if transform == before:
        return entry.alias, position.head, False
    await check_own_transform(position, transform, target)
    return entry.alias, await append_event(entry.dataset, position, transform, system_time=system_time), True


async def _transform_in(snapshot: DatasetSnapshot, target: DatasetRepository) -> SetTransform:
    known = {ref: each.id async for each in target.iterate() for ref in (each.alias, each.id)}
    return transform_in(snapshot, known.get)
