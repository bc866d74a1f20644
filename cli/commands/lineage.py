"""``odf lineage``: what a dataset is made of, and what is made of it."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from catalog.lineage import Reach
from catalog.lineage_reading import read_lineage
from cli.datasets import opened_repository
from cli.lineages import print_graph, print_origin
from cli.options import AsJson, RepositoryOption
from opendatafabric.dataset_ref import parse_dataset_ref
from opendatafabric.index_limits import LINEAGE_DEPTH_MAX
from pipeline.lineage.read_origin import read_origin


def command(
    ref: Annotated[str, typer.Argument(metavar="REF", help="The dataset.")],
    offset: Annotated[
        int | None, typer.Option("--offset", metavar="N", min=0, help="Of what the record at this offset was made.")
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option("--depth", min=1, max=LINEAGE_DEPTH_MAX, help="Go so many datasets up and down at most."),
    ] = None,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Show what a dataset is derived from, and what is derived from it in the same repository.

    Inputs that are elsewhere, circles and damaged chains are told and stop nothing. With --offset: which block brought
    that record, by which query or from which source, and which records of which blocks it was computed from.

    \b
    Example:
        odf lineage seattle-weather.fahrenheit
        odf lineage us.noaa.seattle-weather --depth 1 --json
        odf lineage seattle-weather.fahrenheit --offset 10
    """
    if offset is not None:
        if depth is not None:
            raise typer.BadParameter("--depth is for datasets, --offset for a record of one")
        asyncio.run(_show_origin(ref, offset, repository, as_json=as_json))
        return
    asyncio.run(_show_graph(ref, depth, repository, as_json=as_json))


async def _show_graph(text: str, depth: int | None, repository: str, *, as_json: bool) -> None:
    async with opened_repository(repository) as root:
        entry = await root.find(parse_dataset_ref(text))
        graph, unread = await read_lineage(root, entry, Reach() if depth is None else Reach(depth_max=depth))
        print_graph(graph, unread, as_json=as_json)


async def _show_origin(text: str, offset: int, repository: str, *, as_json: bool) -> None:
    async with opened_repository(repository) as root:
        entry = await root.find(parse_dataset_ref(text))
        print_origin(str(entry.alias), await read_origin(entry.dataset, offset, root.find), as_json=as_json)
