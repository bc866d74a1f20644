"""Files that clients send to be ingested, on disk until that is done: never in memory, never longer than it takes.

They lie hidden in one folder, which several processes may share. What a crash leaves there is swept.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from opendatafabric.errors import StorageError
from opendatafabric.multihash import Multihash
from storage.leases import to_its_end
from storage.local.objects import QUARANTINE_FOLDER, LocalObjectStore


@dataclass(frozen=True, slots=True)
class Received:
    """A file that came whole."""

    file: Path
    hash: Multihash


class Incoming:
    """The folder; made when the first file comes. No file may be larger than ``bytes_max``."""

    def __init__(self, folder: Path, *, bytes_max: int) -> None:
        self._folder = folder
        self._bytes_max = bytes_max

    @asynccontextmanager
    async def received(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[Received]:
        """``pieces`` as a file, which is gone afterwards.

        Raises:
            LimitExceeded: more bytes than may come.
            StorageError: they cannot be written.
        """
        store = await asyncio.to_thread(self._store)
        quarantined = await store.quarantine(pieces, size_max=self._bytes_max)
        try:
            yield Received(self._folder / QUARANTINE_FOLDER / quarantined.token, quarantined.hash)
        finally:
            await to_its_end(store.discard(quarantined))

    async def sweep(self, *, before: float) -> None:
        """Remove what nobody has written to since then, and nobody is writing."""
        if await asyncio.to_thread(self._folder.is_dir):
            await LocalObjectStore(self._folder).expire_quarantine(before=before)

    def _store(self) -> LocalObjectStore:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"folder {self._folder} cannot be made: {error.strerror}") from None
        return LocalObjectStore(self._folder)
