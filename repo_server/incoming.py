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
from storage.uploads import Uploads


@dataclass(frozen=True, slots=True)
class Received:
    """A file that came whole."""

    file: Path
    hash: Multihash
    size: int


class Incoming:
    """The folder; made when the first file comes. No file may be larger than ``bytes_max``.

    Uploads that nobody continues or ingests are kept ``lease_s`` seconds.
    """

    def __init__(self, folder: Path, *, bytes_max: int, lease_s: float) -> None:
        self._folder, self._lease_s = folder, lease_s
        self.bytes_max = bytes_max

    @asynccontextmanager
    async def received(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[Received]:
        """``pieces`` as a file, which is gone afterwards.

        Raises:
            LimitExceeded: more bytes than may come.
            StorageError: they cannot be written.
        """
        store = await asyncio.to_thread(self._store)
        quarantined = await store.quarantine(pieces, size_max=self.bytes_max)
        try:
            yield Received(self._folder / QUARANTINE_FOLDER / quarantined.token, quarantined.hash, quarantined.size)
        finally:
            await to_its_end(store.discard(quarantined))

    async def uploads(self) -> Uploads:
        """Files that come in several requests."""
        return Uploads(await asyncio.to_thread(self._store), lease_s=self._lease_s)

    async def sweep(self, *, now: float) -> None:
        """Remove what nobody needs any more, and nobody is writing."""
        if await asyncio.to_thread(self._folder.is_dir):
            await (await self.uploads()).sweep(now=now)
            await LocalObjectStore(self._folder).expire_quarantine(before=now - self._lease_s)

    def _store(self) -> LocalObjectStore:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"folder {self._folder} cannot be made: {error.strerror}") from None
        return LocalObjectStore(self._folder)
