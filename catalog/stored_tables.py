"""Where stores that need a database find their part of the catalog."""

from __future__ import annotations

from collections.abc import Callable

from catalog.engine import Database
from catalog.stored_datasets import PlaceDatasets
from catalog.stored_files import PlaceFiles, PlaceRefs
from catalog.stored_leases import PlaceLeases


class StoredTables:
    """A StoreTables over one database; ``now`` in seconds since 1970."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now

    def files(self, place: str) -> PlaceFiles:
        return PlaceFiles(self._database, self._now, place)

    def refs(self, place: str) -> PlaceRefs:
        return PlaceRefs(self._database, place)

    def leases(self, place: str) -> PlaceLeases:
        return PlaceLeases(self._database, self._now, place)

    def datasets(self, place: str) -> PlaceDatasets:
        return PlaceDatasets(self._database, self._now, place)
