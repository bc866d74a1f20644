"""The reports of a repository: where they are kept, and whether there is such a place."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from catalog.catalog import open_catalog
from cli.attesters import required_attester
from cli.catalogs import settings_for
from cli.datasets import is_server
from opendatafabric.errors import MalformedInput, NotARepository
from repo_server.config import Settings
from storage.folders import MARKER_NAME
from storage.open import local_folder, scheme_of
from verify.report_room import ReportRoom


@asynccontextmanager
async def report_room(
    repository: str, *, keep: bool | None = True, attest: bool = False
) -> AsyncIterator[ReportRoom | None]:
    """Where reports of that repository are kept, and with ``attest`` signed; ``None`` where they are not to be.

    Without a word (``keep`` is ``None``) they are where the repository is ours: ``odf init`` made it, or it lies
    elsewhere and has a catalog.

    Raises:
        NotARepository, MalformedInput: they are to be kept, and there is no repository, or no catalog, or no place for
            the key.
    """
    keep = True if attest else keep
    settings = None if keep is False or is_server(repository) else _settings(repository, keep=keep)
    if settings is None:
        yield None
        return
    async with open_catalog(settings.database_url) as catalog:
        attester = required_attester(settings, catalog) if attest else None
        yield ReportRoom(catalog.reports, settings.reports_kept, attester, catalog.events)


def is_in(repository: str, location: str) -> bool:
    """Whether a dataset at ``location`` lies in the repository."""
    if scheme_of(repository) in {"", "file"}:
        local = scheme_of(location) in {"", "file"}
        return local and local_folder(location).resolve().is_relative_to(local_folder(repository).resolve())
    return location.startswith(f"{repository.rstrip('/')}/")


def _settings(repository: str, *, keep: bool | None) -> Settings | None:
    if keep is None and scheme_of(repository) in {"", "file"} and not (Path(repository) / MARKER_NAME).is_file():
        return None
    try:
        settings = settings_for(repository)
        assert settings.database_url
    except (NotARepository, MalformedInput):
        if keep:
            raise
        return None
    return settings
