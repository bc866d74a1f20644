"""The settings of a server over a repository, and its catalog: where accounts and tokens are kept."""

from __future__ import annotations

import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from pydantic import ValidationError

from catalog.catalog import Catalog, open_catalog
from catalog.sqlite_files import sqlite_path, sqlite_url
from cli.datasets import local_repository
from opendatafabric.did import DatasetId
from opendatafabric.errors import MalformedInput
from opendatafabric.multihash import Multihash
from repo_server.config import Settings
from storage.collect_repository import SparedHeads
from storage.ipfs.access import IpfsAccess
from storage.ipfs.node_place import NodePlace, is_node_address
from storage.open import Connection, scheme_of
from storage.s3.location import SCHEMES


def settings_for(repository: str, **given: Any) -> Settings:
    """The settings of a server over that repository: what is given and not ``None``, the rest from the environment.

    Raises:
        NotARepository: no repository is there, so that no catalog is made in a wrong folder.
        MalformedInput: a value that its setting does not take.
    """
    elsewhere = scheme_of(repository) in SCHEMES or is_node_address(scheme_of(repository))
    root = repository if elsewhere else local_repository(repository).root
    chosen = {name: value for name, value in given.items() if value is not None}
    try:
        return Settings(repo=root, **chosen)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise MalformedInput(
            f"setting {name}: {first['msg']}", found=first["input"], hint=f"look at ODF_{name.upper()} and the options"
        ) from None


@asynccontextmanager
async def catalog_of(repository: str) -> AsyncIterator[Catalog]:
    """The catalog of the server over that repository."""
    async with open_catalog(settings_for(repository).database_url) as catalog:
        yield catalog


@asynccontextmanager
async def catalog_for_reading(repository: str) -> AsyncIterator[tuple[Settings, Catalog]]:
    """The catalog of the server over that repository, with its settings; without one, an empty one for a while."""
    settings = settings_for(repository)
    with tempfile.TemporaryDirectory(prefix="odf-catalog-") as folder:
        url = settings.database_url if _has_catalog(settings) else sqlite_url(Path(folder) / "catalog.sqlite")
        async with open_catalog(url) as catalog:
            yield settings, catalog


@asynccontextmanager
async def spared_heads(repository: str, grace_s: float) -> AsyncIterator[SparedHeads | None]:
    """Which heads of datasets were replaced so short a while ago that they may be put back; no catalog, none."""
    settings = settings_for(repository)
    if not _has_catalog(settings):
        yield None
        return
    since = time.time() - max(grace_s, settings.reflog_kept_s)
    async with open_catalog(settings.database_url) as catalog:

        async def spared(dataset_id: DatasetId) -> Sequence[Multihash]:
            return await catalog.datasets.heads_until(dataset_id, since=since)

        yield spared


@asynccontextmanager
async def connection_to(repository: str) -> AsyncIterator[Connection]:
    """What opening the repository needs: one at an IPFS node lies half in its catalog."""
    if not is_node_address(scheme_of(repository)):
        yield Connection()
        return
    settings = settings_for(repository)
    assert isinstance(settings.repo, NodePlace)
    token = None if settings.ipfs_token is None else settings.ipfs_token.get_secret_value()
    async with open_catalog(settings.database_url) as catalog, aiohttp.ClientSession() as session:
        yield Connection(session, ipfs=IpfsAccess(settings.repo.rpc, token), tables=catalog.stores)


def _has_catalog(settings: Settings) -> bool:
    """Whether a catalog is named, or lies beside the datasets."""
    if settings.catalog_url is None and not isinstance(settings.repo, Path):
        return False
    file = sqlite_path(settings.database_url)
    return file is None or file.exists()
