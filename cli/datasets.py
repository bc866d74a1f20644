"""From what people type to a dataset: a reference in the repository of ``--repo``, a folder, or an address."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from cli.credentials import token_for
from opendatafabric.dataset_ref import DatasetAlias, parse_dataset_ref
from opendatafabric.did import DatasetId
from opendatafabric.errors import MalformedIdentifier, RefNotFound, UnsupportedOperation
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset
from storage.open import Connection, open_dataset
from storage.repository import Repository


@dataclass(frozen=True, slots=True)
class Opened:
    """A dataset with its head and what to call it."""

    name: str
    alias: DatasetAlias | None
    dataset: Dataset
    head: Multihash


def is_address(text: str) -> bool:
    """Whether ``text`` is an address (``scheme://…``) rather than a name or a folder."""
    return "://" in text


def is_dataset_folder(text: str) -> bool:
    """Whether ``text`` names a folder that is laid out as a dataset."""
    return (Path(text) / "refs").is_dir()


@asynccontextmanager
async def opened(text: str, repository: str) -> AsyncIterator[Opened]:
    """The dataset that ``text`` names: an address, a dataset folder, or an id or alias in ``repository``.

    Raises:
        MalformedIdentifier, DatasetNotFound, NotARepository, PeerUnavailable: as they say.
        RefNotFound: it has no head yet.
    """
    alias, location = await _locate(text, repository)
    async with connection_to(location) as connection:
        dataset = open_dataset(location, connection)
        head = await dataset.head()
        if head is None:
            raise RefNotFound(f"there is no dataset with a head at {text}", hint="is the name right, and are you logged in?")
        yield Opened(text, alias, dataset, head)


@asynccontextmanager
async def connection_to(location: str) -> AsyncIterator[Connection]:
    """What it takes to read ``location``: nothing for a folder, a session with the token kept for a server."""
    if not is_address(location) or location.startswith("file:"):
        yield Connection()
        return
    token = token_for(location)
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession() as session:
        yield Connection(session, headers)


async def _locate(text: str, repository: str) -> tuple[DatasetAlias | None, str]:
    if is_address(text):
        return None, text.removeprefix("odf+")
    if is_dataset_folder(text):
        return None, str(Path(text).resolve())
    if is_address(repository):
        alias = _alias_on_server(text)
        return alias, f"{repository.removeprefix('odf+').rstrip('/')}/{alias}/"
    entry = await Repository.open(Path(repository)).find(parse_dataset_ref(text))
    return entry.alias, str(entry.path)


def local_repository(repository: str) -> Repository:
    """The repository in the folder ``repository``.

    Raises:
        UnsupportedOperation: an address; the command works on folders alone.
        NotARepository: no repository is there.
    """
    if is_address(repository):
        raise UnsupportedOperation(f"this command works on a folder, not on {repository}", hint="--repo DIR or ODF_REPO")
    return Repository.open(Path(repository))


def _alias_on_server(text: str) -> DatasetAlias:
    ref = parse_dataset_ref(text)
    if isinstance(ref, DatasetId):
        raise MalformedIdentifier(f"a server finds datasets by name, not by id: {text}", hint="write ACCOUNT/NAME")
    return ref
