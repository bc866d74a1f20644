"""``odf pull``: fetch datasets, or what is new in them."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from cli.bulk import run_each
from cli.datasets import repository_at
from cli.ingests import instant_option
from cli.ipfs import IpfsGateway, Trustless, ipfs_access
from cli.options import AsJson, RepositoryOption
from cli.polls import PollOptions
from cli.pulls import Pullable, Pulled, PullOptions, chosen, name_of, print_summary, pull_one
from opendatafabric.errors import OdfError
from opendatafabric.multihash import Multihash
from storage.repositories import DatasetRepository
from sync.transfer import TransferOptions


def command(
    remotes: Annotated[
        list[str] | None, typer.Argument(metavar="URL|DIR|REF", help="Where the datasets are, or which of yours.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of yours that come from somewhere.")] = False,
    recursive: Annotated[bool, typer.Option("--recursive", help="Their inputs first.")] = False,
    name: Annotated[str | None, typer.Option("--as", metavar="NAME", help="What to call it here.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a chain that has diverged.")] = False,
    metadata_only: Annotated[bool, typer.Option("--metadata-only", help="Blocks without their objects.")] = False,
    since: Annotated[
        str | None, typer.Option("--since", metavar="BLOCK", help="Fetch again what follows this block.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would move or be read.")] = False,
    system_time: Annotated[
        str | None, typer.Option("--system-time", metavar="T", help="When data are added, instead of now.")
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
    pulled before; one with a polling source of its own is asked of that source, a derivative is computed from its
    inputs. Of several, one that fails does not stop the others, and ends the command with 1.

    \b
    Example:
        odf pull odf+http://127.0.0.1:8080/examples/us.faa.airports
        odf pull us.faa.airports
        odf pull --all
        odf pull ipns://k51... --as weather --ipfs-gateway http://127.0.0.1:8080
        odf pull file:///data/workspace/.kamu/datasets/fed01... --as weather
    """
    given = remotes or []
    if bool(given) == everything:
        raise typer.BadParameter("say what to pull, or --all")
    if name is not None and (everything or recursive or len(given) > 1):
        raise typer.BadParameter("--as names one dataset, not several")
    transfer = TransferOptions(
        force=force,
        metadata_only=metadata_only,
        dry_run=dry_run,
        since=None if since is None else Multihash.from_text(since),
    )
    poll = PollOptions(instant_option(system_time), allow_env or (), fetch_uncacheable)
    access = ipfs_access(ipfs_gateway, trustless=trustless)
    options = PullOptions(name, transfer, access, poll, as_json)
    target = asyncio.run(repository_at(repository))
    if everything or recursive:
        found = asyncio.run(chosen(given, target, everything=everything, recursive=recursive))
        _pull_and_sum_up(found, target, options)
    elif len(given) == 1:
        _pull_given(given[0], target, options)
    else:
        run_each(given, lambda each: _pull_given(each, target, options), as_json=as_json)


def _pull_given(given: str, target: DatasetRepository, options: PullOptions) -> None:
    (what,) = asyncio.run(chosen([given], target, everything=False, recursive=False))
    pull_one(what, target, options)


def _pull_and_sum_up(found: list[Pullable], target: DatasetRepository, options: PullOptions) -> None:
    rows: list[Pulled] = []
    by_name = {name_of(what): what for what in found}

    def pull_noted(name: str) -> None:
        try:
            rows.append(pull_one(by_name[name], target, options))
        except OdfError as error:
            rows.append(Pulled(name, "failed", error=error.message))
            raise

    try:
        run_each(by_name, pull_noted, as_json=options.as_json)
    finally:
        print_summary(rows, as_json=options.as_json)
