"""``odf push``: send a dataset to a server or a folder."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import aiohttp
import typer

from cli.datasets import locate, opened
from cli.mirrors import publish
from cli.options import AsJson, RepositoryOption
from cli.progress import progress_bars
from cli.remotes import local_ref, remember, remembered
from cli.signing import signed_for
from cli.transfers import print_mirrored, print_transfer
from storage.dataset_config import Direction
from storage.ipfs.rpc import SCHEMES
from storage.open import local_folder, scheme_of
from sync.credentials import token_for
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
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="URL",
            help="Where it goes: odf+http(s)://…, kubo+http(s)://… or a folder; by default as before.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a chain that has diverged.")] = False,
    visibility: Annotated[
        Visibility, typer.Option("--visibility", case_sensitive=False, help="Of a dataset that is new there.")
    ] = Visibility.PRIVATE,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would move.")] = False,
    sign: Annotated[
        Path | None, typer.Option("--sign", metavar="KEYFILE", help="Sign the head with this key, before it is sent.")
    ] = None,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Send a dataset to a server, making it there if it is new. After a failure the same command goes on.

    To the RPC of an IPFS node (kubo+http://HOST:PORT) the dataset goes as a tree: pinned, with a name that leads to it.

    \b
    Example:
        odf push us.faa.airports --to odf+http://127.0.0.1:8080/alice/airports --visibility public
        odf push us.faa.airports --to kubo+http://127.0.0.1:5001
        odf push us.faa.airports
    """
    options = TransferOptions(force=force, dry_run=dry_run, visibility=WIRE[visibility])
    folder = _folder_of(ref, repository)
    remote = to if to is not None else _remote_of(ref, folder)
    if scheme_of(remote) in SCHEMES:
        _mirror(ref, repository, remote, options, as_json=as_json)
    else:
        signed = None if sign is None or dry_run else asyncio.run(signed_for(ref, repository, remote, sign))
        print_transfer(remote, asyncio.run(_push(ref, repository, parse_remote(remote), options)), as_json=as_json)
        if signed is not None:
            asyncio.run(signed.put_down_after())
    if folder is not None and not dry_run:
        remember(folder, Direction.PUSH, remote)


def _mirror(ref: str, repository: str, remote: str, options: TransferOptions, *, as_json: bool) -> None:
    if options.force or options.dry_run:
        raise typer.BadParameter("--force and --dry-run are not for IPFS: a tree never stands against another")
    print_mirrored(asyncio.run(publish(ref, repository, remote)), as_json=as_json)


def _folder_of(ref: str, repository: str) -> Path | None:
    """Where a dataset of the repository lies; ``None`` for one elsewhere, whose folder is not ours to change."""
    located = asyncio.run(locate(ref, repository))
    return local_folder(located.location) if local_ref(ref) is not None and located.is_local else None


def _remote_of(ref: str, folder: Path | None) -> str:
    if folder is None:
        raise typer.BadParameter("--to is needed: only for datasets of the repository is it remembered")
    return remembered(ref, folder, Direction.PUSH)


async def _push(ref: str, repository: str, target: RemoteLocation, options: TransferOptions) -> TransferResult:
    token = token_for(target.url)
    with progress_bars() as advance:
        async with opened(ref, repository) as found, aiohttp.ClientSession() as session:
            return await push_dataset(session, found.dataset, target, token=token, options=options, progress=advance)
