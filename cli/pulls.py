"""Pulling one dataset after another: from where it was pulled before, its own source, its inputs, or an address."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

import aiohttp

from cli.output import print_json, print_table
from cli.polls import PollOptions, poll_and_print, polls
from cli.progress import progress_bars
from cli.remotes import local_ref, remember, remembered
from cli.transfers import local_alias, print_transfer
from cli.transforms import derive_and_print, derives, print_next_step
from opendatafabric.errors import OdfError, UnsupportedOperation
from pipeline.pull_order import inputs_first
from storage.dataset_config import Direction, remotes_of
from storage.ipfs.access import IpfsAccess
from storage.repositories import DatasetRepository
from storage.repository import DatasetEntry
from sync.credentials import token_for
from sync.pull import pull_dataset
from sync.remote import RemoteLocation, parse_remote
from sync.transfer import RepositoryTarget, TransferOptions, TransferResult

Pullable = str | DatasetEntry
"""An address or a folder elsewhere, or a dataset of the repository."""


@dataclass(frozen=True, slots=True)
class PullOptions:
    """``name`` is what a new dataset is called here."""

    name: str | None = None
    transfer: TransferOptions = field(default_factory=TransferOptions)
    access: IpfsAccess | None = None
    poll: PollOptions = field(default_factory=PollOptions)
    as_json: bool = False


@dataclass(frozen=True, slots=True)
class Pulled:
    """What came of one dataset, as a row of the summary."""

    name: str
    state: str
    records: int = 0
    error: str | None = None


async def chosen(
    given: Sequence[str], repository: DatasetRepository, *, everything: bool, recursive: bool
) -> list[Pullable]:
    """What to pull, inputs first: what is given or ``everything`` that can be pulled, and with ``recursive`` those of
    the inputs that can be.

    Raises:
        DatasetNotFound: a name that is not in the repository.
    """
    refs = [local_ref(text) for text in given]
    elsewhere: list[Pullable] = [text for text, ref in zip(given, refs, strict=True) if ref is None]
    named = [await repository.find(ref) for ref in refs if ref is not None]
    if everything:
        named = [entry async for entry in repository.iterate() if await _can_be_pulled(entry)]
    if not (everything or recursive):
        return [*elsewhere, *named]
    asked = {entry.id for entry in named}
    ordered = await inputs_first(repository, named)
    return elsewhere + [entry for entry in ordered if entry.id in asked or await _can_be_pulled(entry)]


def pull_one(what: Pullable, target: DatasetRepository, options: PullOptions) -> Pulled:
    """Pull it and print what came of it.

    Raises:
        OdfError: it could not be pulled.
    """
    if isinstance(what, str):
        return _pull_from(what, target, options.name, options)
    name = str(what.alias)
    if _comes_from_elsewhere(what):
        return _pull_from(remembered(name, what.path, Direction.PULL), target, name, options)
    if asyncio.run(derives(what)):
        return _derive(what, target, options)
    if not asyncio.run(polls(what)):
        return _pull_from(remembered(name, what.path, Direction.PULL), target, name, options)
    if options.transfer.dry_run:
        raise UnsupportedOperation(f"what the source of {name} has is not known before it is asked")
    return _pulled(name, asyncio.run(poll_and_print(what, options.poll, as_json=options.as_json)))


def name_of(what: Pullable) -> str:
    """How it is called in messages."""
    return what if isinstance(what, str) else str(what.alias)


def print_summary(rows: Sequence[Pulled], *, as_json: bool) -> None:
    """A table, or one more JSON object."""
    if as_json:
        print_json({"summary": [asdict(row) for row in rows]}, indent=None)
    elif rows:
        cells = [(row.name, row.state, str(row.records), row.error or "") for row in rows]
        print_table(("NAME", "STATE", "RECORDS", "ERROR"), cells)


def _pull_from(remote: str, target: DatasetRepository, name: str | None, options: PullOptions) -> Pulled:
    source = parse_remote(remote)
    place = RepositoryTarget(target, local_alias(source, name))
    result = asyncio.run(_pull(source, place, options))
    if not result.dry_run:
        remember(asyncio.run(target.find(place.alias)).path, Direction.PULL, remote)
    print_transfer(str(place.alias), result, as_json=options.as_json)
    return _pulled(str(place.alias), None if result.up_to_date else result.plan.num_records)


def _pulled(name: str, records: int | None) -> Pulled:
    return Pulled(name, "up to date") if records is None else Pulled(name, "changed", records)


def _derive(entry: DatasetEntry, repository: DatasetRepository, options: PullOptions) -> Pulled:
    name = str(entry.alias)
    if options.transfer.dry_run:
        is_due = asyncio.run(print_next_step(entry, repository, as_json=options.as_json))
        return Pulled(name, "to be computed" if is_due else "up to date")
    deriving = derive_and_print(entry, repository, options.poll.system_time, as_json=options.as_json)
    return _pulled(name, asyncio.run(deriving))


def _comes_from_elsewhere(entry: DatasetEntry) -> bool:
    return entry.path is not None and bool(remotes_of(entry.path, Direction.PULL))


async def _can_be_pulled(entry: DatasetEntry) -> bool:
    """A damaged one can be tried: that says what is wrong."""
    try:
        return _comes_from_elsewhere(entry) or await polls(entry) or await derives(entry)
    except OdfError:
        return True


async def _pull(source: RemoteLocation, place: RepositoryTarget, options: PullOptions) -> TransferResult:
    token = token_for(source.url)
    with progress_bars() as advance:
        async with aiohttp.ClientSession() as session:
            return await pull_dataset(
                session, source, place, token=token, ipfs=options.access, options=options.transfer, progress=advance
            )
