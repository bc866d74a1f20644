"""``odf visibility``: who may read a dataset of a server without a role in it."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from catalog.visibility import Visibility
from cli.lifecycles import server_path
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line
from cli.places import places_in
from cli.server_deeds import done_by_server
from cli.server_reports import located_on_server


def command(
    ref: Annotated[str, typer.Argument(metavar="REF", help="The dataset.")],
    wish: Annotated[
        str | None, typer.Argument(metavar="[private|unlisted|public]", help="Without it, show how it is.")
    ] = None,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Say who may read a dataset without a role in it; or show who may.

    private: nobody; to others it does not exist. unlisted: whoever knows its name; it is in no list, search or feed.
    public: everybody.

    \b
    Example:
        odf visibility us.noaa.seattle-weather public --repo my-repository
        odf visibility us.noaa.seattle-weather --repo my-repository
    """
    wanted = None if wish is None else Visibility.from_text(wish)
    found = asyncio.run(_set_and_show(repository, ref, wanted))
    if as_json:
        print_json({"dataset": ref, "visibility": found.value})
    else:
        print_line(f"{ref}: {found.value}")


async def _set_and_show(repository: str, ref: str, wanted: Visibility | None) -> Visibility:
    there = await located_on_server(ref, repository)
    if there is not None:
        body = None if wanted is None else {"visibility": wanted.value}
        told = await done_by_server("GET" if body is None else "PUT", f"{server_path(there)}/visibility", body)
        return Visibility.from_text(str(told["visibility"]))
    async with places_in(repository) as places:
        record = await places.record(ref)
        if wanted is None:
            return record.visibility
        await places.catalog.datasets.set_visibility(record.id, wanted)
        return wanted
