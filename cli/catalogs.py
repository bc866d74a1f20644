"""The catalog that belongs to a repository: where ``odf serve`` keeps accounts and tokens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from catalog.catalog import Catalog, open_catalog
from cli.datasets import local_repository
from repo_server.config import Settings


def settings_for(repository: str) -> Settings:
    """The settings of a server over that repository; everything else as the environment says.

    Raises:
        NotARepository: no repository is there, so that no catalog is made in a wrong folder.
    """
    return Settings(repo=Path(local_repository(repository).root))


@asynccontextmanager
async def catalog_of(repository: str) -> AsyncIterator[Catalog]:
    """The catalog of the server over that repository."""
    async with open_catalog(settings_for(repository).database_url) as catalog:
        yield catalog
