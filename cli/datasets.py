"""From what people type to a dataset: a reference in the repository of ``--repo``, a folder, or an address."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from cli.ipfs import ipfs_access
from opendatafabric.dataset_ref import DatasetAlias, parse_dataset_ref
from opendatafabric.did import DatasetId
from opendatafabric.errors import DatasetNotFound, MalformedIdentifier, RefNotFound, UnsupportedOperation
from opendatafabric.multihash import Multihash
from storage import folders
from storage.dataset import Dataset
from storage.ipfs.node_place import is_node_address
from storage.open import CAR_SUFFIX, Connection, local_folder, open_dataset, open_repository, scheme_of
from storage.repositories import DatasetRepository
from storage.repository import Repository
from storage.s3.location import SCHEMES
from sync.credentials import headers_for


@dataclass(frozen=True, slots=True)
class Located:
    """Where a dataset lies, as an address or the path of its folder, and what it is called."""

    name: str
    location: str

    @property
    def is_local(self) -> bool:
        return scheme_of(self.location) in {"", "file"}


@dataclass(frozen=True, slots=True)
class Opened:
    """A dataset with its head and what it is called."""

    name: str
    dataset: Dataset
    head: Multihash


def is_address(text: str) -> bool:
    """Whether ``text`` is an address (``scheme://…``) rather than a name or a folder."""
    return "://" in text


def is_dataset_folder(text: str) -> bool:
    """Whether ``text`` names a folder that is laid out as a dataset."""
    return folders.is_dataset_folder(Path(text))


def is_archive(text: str) -> bool:
    """Whether ``text`` names a file that is a dataset as an archive of IPFS."""
    path = Path(text)
    return path.suffix == CAR_SUFFIX and path.is_file()


def absolute_path(text: str) -> str:
    """The folder named by ``text``, from the root on."""
    return str(Path(text).resolve())


async def locate(text: str, repository: str) -> Located:
    """Where the dataset is that ``text`` names: an address, a dataset folder, or an id or alias in ``repository``.

    Raises:
        MalformedIdentifier, DatasetNotFound, NotARepository: as they say.
    """
    if is_address(text):
        return Located(text, text.removeprefix("odf+"))
    if is_dataset_folder(text) or is_archive(text):
        return Located(text, absolute_path(text))
    if is_server(repository):
        return Located(text, f"{repository.removeprefix('odf+').rstrip('/')}/{_alias_on_server(text)}/")
    async with opened_repository(repository) as root:
        return await _locate_in(root, text)


async def locate_all(text: str, repository: str) -> list[Located]:
    """As ``locate``; for the folder of a repository, every dataset in it."""
    if is_address(text) or not Repository.is_at(Path(text)):
        return [await locate(text, repository)]
    return await datasets_in(Repository.open(Path(text)))


async def datasets_in(repository: DatasetRepository) -> list[Located]:
    """Every dataset that is not pending, damaged ones too, by name."""
    places = [Located(str(place.alias), place.address) async for place in repository.places() if not place.pending]
    return sorted(places, key=lambda place: place.name)


@asynccontextmanager
async def connected(located: Located) -> AsyncIterator[Dataset]:
    """The dataset at that place, for reading, whatever state it is in."""
    if located.is_local:
        yield open_dataset(located.location, Connection())
        return
    if is_node_address(scheme_of(located.location)):
        async with _connection_to(located.location) as connection:
            yield open_dataset(located.location, connection)
        return
    headers = headers_for(located.location)
    async with aiohttp.ClientSession() as session:
        in_ipfs = scheme_of(located.location) in {"ipfs", "ipns"}
        yield open_dataset(located.location, Connection(session, headers, ipfs_access() if in_ipfs else None))


@asynccontextmanager
async def opened(text: str, repository: str) -> AsyncIterator[Opened]:
    """The dataset that ``text`` names, as in ``locate``, with its head.

    Raises:
        RefNotFound: there is none with a head.
        PeerUnavailable: the server did not answer.
    """
    located = await locate(text, repository)
    async with connected(located) as dataset:
        head = await dataset.head()
        if head is None:
            raise RefNotFound(
                f"there is no dataset with a head at {text}", hint="is the name right, are you logged in?"
            )
        yield Opened(located.name, dataset, head)


@asynccontextmanager
async def opened_repository(repository: str) -> AsyncIterator[DatasetRepository]:
    """The repository in a folder, in S3 or at an IPFS node; errors as in ``repository_at``."""
    if not is_node_address(scheme_of(repository)):
        yield await repository_at(repository)
        return
    async with _connection_to(repository) as connection:
        yield await open_repository(repository, connection)


async def repository_at(repository: str) -> DatasetRepository:
    """The repository in a folder or in S3.

    Raises:
        UnsupportedOperation: a server; the command works on what is stored.
        NotARepository: no repository is there.
    """
    if scheme_of(repository) in SCHEMES:
        return await open_repository(repository)
    return _repository_in_folder(repository, "a folder or on S3")


def local_repository(repository: str) -> Repository:
    """The repository in the folder ``repository``.

    Raises:
        UnsupportedOperation: an address elsewhere.
        NotARepository: no repository is there.
    """
    return _repository_in_folder(repository, "a folder")


def _repository_in_folder(repository: str, place: str) -> Repository:
    if scheme_of(repository) not in {"", "file"}:
        raise UnsupportedOperation(f"this command works on {place}, not on {repository}", hint="--repo DIR or ODF_REPO")
    return Repository.open(local_folder(repository))


def _connection_to(place: str) -> AbstractAsyncContextManager[Connection]:
    from cli.catalogs import connection_to  # noqa: PLC0415 - most commands need no catalog, which takes long to load

    return connection_to(place)


def is_server(repository: str) -> bool:
    """Whether ``repository`` is the address of a server."""
    scheme = scheme_of(repository)
    return bool(scheme) and scheme not in {*SCHEMES, "file"} and not is_node_address(scheme)


async def _locate_in(repository: DatasetRepository, text: str) -> Located:
    ref = parse_dataset_ref(text)
    try:
        entry = await repository.find(ref)
        return Located(str(entry.alias), repository.address_of(entry))
    except DatasetNotFound:
        # Damaged ones have no readable identity for the repository, yet their place has a name.
        known = [place async for place in repository.places() if not place.pending]
    for place in known:
        if ref in {place.alias, place.dataset_id}:
            return Located(str(place.alias), place.address)
    raise _not_found(text, [place.alias for place in known])


def _not_found(text: str, known: Iterable[DatasetAlias]) -> DatasetNotFound:
    name = text.rpartition("/")[2].lower()
    alike = [str(alias) for alias in sorted(known) if alias.name.lower() == name]
    hint = f"did you mean {' or '.join(alike)}?" if alike else "odf list shows what is"
    return DatasetNotFound(f"dataset {text} is not in the repository", hint=hint)


def _alias_on_server(text: str) -> DatasetAlias:
    ref = parse_dataset_ref(text)
    if isinstance(ref, DatasetId):
        raise MalformedIdentifier(f"a server finds datasets by name, not by id: {text}", hint="write ACCOUNT/NAME")
    return ref
