"""``odf pull``: fetch datasets, or what is new in them."""

from __future__ import annotations

import asyncio
from typing import Annotated

import aiohttp
import typer

from cli.bulk import run_each
from cli.credentials import token_for
from cli.datasets import repository_at
from cli.ingests import instant_option
from cli.ipfs import IpfsGateway, Trustless, ipfs_access
from cli.options import AsJson, RepositoryOption
from cli.polls import poll_and_print, polls
from cli.progress import progress_bars
from cli.remotes import local_ref, remember, remembered
from cli.transfers import local_alias, print_transfer
from opendatafabric.multihash import Multihash
from storage.dataset_config import Direction, remotes_of
from storage.ipfs.access import IpfsAccess
from storage.repositories import DatasetRepository
from storage.repository import DatasetEntry
from sync.pull import pull_dataset
from sync.remote import RemoteLocation, parse_remote
from sync.transfer import RepositoryTarget, TransferOptions, TransferResult


def command(
    remotes: Annotated[
        list[str], typer.Argument(metavar="URL|DIR|REF", help="Where the datasets are, or which of yours.")
    ],
    name: Annotated[str | None, typer.Option("--as", metavar="NAME", help="What to call it here.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a chain that has diverged.")] = False,
    metadata_only: Annotated[bool, typer.Option("--metadata-only", help="Blocks without their objects.")] = False,
    since: Annotated[
        str | None, typer.Option("--since", metavar="BLOCK", help="Fetch again what follows this block.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would move.")] = False,
    system_time: Annotated[
        str | None, typer.Option("--system-time", metavar="T", help="When polled data are added, instead of now.")
    ] = None,
    allow_env: Annotated[
        list[str] | None, typer.Option("--allow-env", metavar="NAME", help="A variable that sources may use.")
    ] = None,
    fetch_uncacheable: Annotated[
        bool, typer.Option("--fetch-uncacheable", help="Poll sources again that do not say what is new.")
    ] = False,
    ipfs_gateway: IpfsGateway = None,
    trustless: Trustless = False,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Fetch datasets, or what is new in them, and check everything before it becomes visible.

    By the smart protocol from odf+http(s)://, by the simple one from http(s)://, ipfs://, ipns://, file:// and folders.
    After a failure the same command goes on where it stopped. A dataset of the repository is fetched from where it was
    pulled before; one with a polling source of its own is asked of that source.

    \b
    Example:
        odf pull odf+http://127.0.0.1:8080/examples/us.faa.airports
        odf pull us.faa.airports
        odf pull ipns://k51... --as weather --ipfs-gateway http://127.0.0.1:8080
        odf pull file:///data/workspace/.kamu/datasets/fed01... --as weather
    """
    if name is not None and len(remotes) > 1:
        raise typer.BadParameter("--as names one dataset, not several")
    options = TransferOptions(
        force=force,
        metadata_only=metadata_only,
        dry_run=dry_run,
        since=None if since is None else Multihash.from_text(since),
    )
    target = asyncio.run(repository_at(repository))
    access = ipfs_access(ipfs_gateway, trustless=trustless)

    def pull_one(given: str) -> None:
        polled = asyncio.run(_polled(given, target))
        if polled is not None:
            asyncio.run(
                poll_and_print(
                    polled,
                    system_time=instant_option(system_time),
                    allowed=allow_env or (),
                    fetch_uncacheable=fetch_uncacheable,
                    as_json=as_json,
                )
            )
            return
        remote, known_as = asyncio.run(_remote_of(given, target))
        source = parse_remote(remote)
        place = RepositoryTarget(target, local_alias(source, name or known_as))
        result = asyncio.run(_pull(source, place, options, access))
        if not dry_run:
            remember(asyncio.run(target.find(place.alias)).path, Direction.PULL, remote)
        print_transfer(str(place.alias), result, as_json=as_json)

    if len(remotes) == 1:
        pull_one(remotes[0])
    else:
        run_each(remotes, pull_one, as_json=as_json)


async def _polled(given: str, target: DatasetRepository) -> DatasetEntry | None:
    """The dataset here that polls its own source and was not pulled from elsewhere."""
    ref = local_ref(given)
    if ref is None:
        return None
    entry = await target.find(ref)
    known = [] if entry.path is None else remotes_of(entry.path, Direction.PULL)
    return entry if not known and await polls(entry) else None


async def _remote_of(given: str, target: DatasetRepository) -> tuple[str, str | None]:
    """Where to pull from, and what the dataset is called here if it is here."""
    ref = local_ref(given)
    if ref is None:
        return given, None
    entry = await target.find(ref)
    return remembered(given, entry.path, Direction.PULL), str(entry.alias)


async def _pull(
    source: RemoteLocation, place: RepositoryTarget, options: TransferOptions, access: IpfsAccess | None
) -> TransferResult:
    token = token_for(source.url)
    with progress_bars() as advance:
        async with aiohttp.ClientSession() as session:
            return await pull_dataset(
                session, source, place, token=token, ipfs=access, options=options, progress=advance
            )
