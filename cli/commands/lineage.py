"""``odf lineage``: what a dataset is made of, and what is made of it."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from cli.datasets import opened_repository
from cli.lineage_places import lineage_at
from cli.lineages import print_lineage, print_origin
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_text
from opendatafabric.dataset_ref import parse_dataset_ref
from opendatafabric.index_limits import LINEAGE_DEPTH_MAX
from pipeline.lineage.read_origin import read_origin


def command(
    ref: Annotated[str, typer.Argument(metavar="REF", help="The dataset, here or on a server.")],
    offset: Annotated[
        int | None, typer.Option("--offset", metavar="N", min=0, help="Of what the record at this offset was made.")
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option("--depth", min=1, max=LINEAGE_DEPTH_MAX, help="Go so many datasets up and down at most."),
    ] = None,
    as_svg: Annotated[bool, typer.Option("--svg", help="Print a drawing.")] = False,
    as_run_events: Annotated[
        bool, typer.Option("--openlineage", help="Print its steps as run events of OpenLineage, one a line.")
    ] = False,
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
        odf lineage seattle-weather.fahrenheit --svg
        odf lineage seattle-weather.fahrenheit --offset 10
    """
    _check_one_way(offset is not None, as_svg=as_svg, as_run_events=as_run_events, as_json=as_json, depth=depth)
    if offset is not None:
        asyncio.run(_show_origin(ref, offset, repository, as_json=as_json))
    elif as_run_events:
        asyncio.run(_show_run_events(ref, repository))
    else:
        asyncio.run(_show_graph(ref, depth, repository, as_svg=as_svg, as_json=as_json))


def _check_one_way(of_record: bool, *, as_svg: bool, as_run_events: bool, as_json: bool, depth: int | None) -> None:
    if sum((of_record, as_svg, as_run_events)) > 1 or (as_json and as_svg):
        raise typer.BadParameter("--offset, --svg, --openlineage and --json with --svg exclude each other")
    if depth is not None and (of_record or as_run_events):
        raise typer.BadParameter("--depth is for the graph of datasets")


async def _show_graph(text: str, depth: int | None, repository: str, *, as_svg: bool, as_json: bool) -> None:
    async with lineage_at(text, repository) as place:
        if as_svg:
            print_text(await place.svg(depth))
        else:
            print_lineage(await place.told(depth), place.unread, depth=depth, as_json=as_json)


async def _show_run_events(text: str, repository: str) -> None:
    async with lineage_at(text, repository) as place:
        async for event in place.run_events():
            print_json(event, indent=None)


async def _show_origin(text: str, offset: int, repository: str, *, as_json: bool) -> None:
    async with opened_repository(repository) as root:
        entry = await root.find(parse_dataset_ref(text))
        print_origin(str(entry.alias), await read_origin(entry.dataset, offset, root.find), as_json=as_json)
