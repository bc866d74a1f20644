"""The settings of a server over a repository, and its catalog: where accounts and tokens are kept."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pydantic import ValidationError

from catalog.catalog import Catalog, open_catalog
from cli.datasets import local_repository
from opendatafabric.errors import MalformedInput
from repo_server.config import Settings
from storage.open import scheme_of
from storage.s3.location import SCHEMES


def settings_for(repository: str, **given: Any) -> Settings:
    """The settings of a server over that repository: what is given and not ``None``, the rest from the environment.

    Raises:
        NotARepository: no repository is there, so that no catalog is made in a wrong folder.
        MalformedInput: a value that its setting does not take.
    """
    in_s3 = scheme_of(repository) in SCHEMES
    root = repository if in_s3 else local_repository(repository).root
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
