"""``odf push``: send a dataset to a server or a folder."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import Annotated, Final

import aiohttp
import typer

from cli.credentials import token_for
from cli.datasets import opened
from cli.options import AsJson, RepositoryOption
from cli.progress import progress_bars
from cli.transfers import print_transfer
from sync.push import push_dataset
from sync.remote import RemoteLocation, parse_remote
from sync.smart.messages import Visibility as WireVisibility
from sync.transfer import TransferOptions, TransferResult


class Visibility(StrEnum):
    """Who may read a dataset that the push makes."""

    PRIVATE = "private"
    PUBLIC = "public"


WIRE: Final[dict[Visibility, WireVisibility]] = {Visibility.PRIVATE: "Private", Visibility.PUBLIC: "Public"}


def command(
    ref: Annotated[str, typer.Argument(metavar="REF|DIR", help="The dataset.")],
    to: Annotated[str, typer.Option("--to", metavar="URL", help="Where it goes: odf+http(s)://… or a folder.")],
    force: Annotated[bool, typer.Option("--force", help="Replace a chain that has diverged.")] = False,
    visibility: Annotated[
        Visibility, typer.Option("--visibility", case_sensitive=False, help="Of a dataset that is new there.")
    ] = Visibility.PRIVATE,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would move.")] = False,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Send a dataset to a server, making it there if it is new. After a failure the same command goes on.

    \b
    Example:
        odf push us.faa.airports --to odf+http://127.0.0.1:8080/alice/airports --visibility public
    """
    options = TransferOptions(force=force, dry_run=dry_run, visibility=WIRE[visibility])
    result = asyncio.run(_push(ref, repository, parse_remote(to), options))
    print_transfer(to, result, as_json=as_json)


async def _push(ref: str, repository: str, target: RemoteLocation, options: TransferOptions) -> TransferResult:
    token = token_for(target.url)
    with progress_bars() as advance:
        async with opened(ref, repository) as found, aiohttp.ClientSession() as session:
            return await push_dataset(session, found.dataset, target, token=token, options=options, progress=advance)
