"""The smallest correct stores: dictionaries. Property tests compare every other store with these."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from itertools import count
from pathlib import Path

from opendatafabric.block_ref import check_block_ref
from opendatafabric.errors import Conflict, LimitExceeded, ObjectNotFound
from opendatafabric.limits import BLOCK_BYTES_MAX, READ_CHUNK_BYTES
from opendatafabric.multihash import Multihash, physical_hash
from storage.hashing_stream import gathered
from storage.keys import is_addressed, split_key
from storage.protocols import LeaseStore
from storage.reading import followed
from storage.ref_text import ref_conflict
from storage.values import ByteRange, Capabilities, Followed, Lease, LeaseKind, ObjectInfo, Quarantined, WriteMode

Infos = list[ObjectInfo]


class MemoryObjectStore:
    """An ObjectStore that forgets everything with the process."""

    def __init__(self) -> None:
        self.capabilities = Capabilities(writable=True, listable=True)
        self.leases: LeaseStore = MemoryLeaseStore()
        self.objects: dict[str, bytes] = {}
        self.quarantined: dict[str, bytes] = {}
        self._times: dict[str, float] = {}
        self._tokens = count()

    async def stat(self, key: str) -> ObjectInfo:
        return ObjectInfo(key, len(self._get(key)), self._times.get(key, 0.0))

    async def read(self, key: str, *, size_max: int = BLOCK_BYTES_MAX) -> bytes:
        data = self._get(key)
        if len(data) > size_max:
            raise LimitExceeded(f"{key} is larger than may be read at once", expected=size_max, found=len(data))
        return data

    async def stream(self, key: str, byte_range: ByteRange | None = None) -> AsyncIterator[bytes]:
        window = byte_range or ByteRange(0)
        data = self._get(key)[window.start : window.end]
        for start in range(0, len(data), READ_CHUNK_BYTES):
            yield data[start : start + READ_CHUNK_BYTES]

    async def follow(self, key: str, next_key: Callable[[bytes], str | None], *, count_max: int) -> Followed:
        return await followed(self.read, key, next_key, count_max=count_max)

    async def list(self, prefix: str = "") -> AsyncIterator[ObjectInfo]:
        for key in [key for key in self.objects if key.startswith(prefix)]:
            if key in self.objects:  # it may have gone while the caller looked at another
                yield await self.stat(key)

    def local_path(self, key: str) -> Path | None:
        split_key(key)
        return None

    async def put(self, key: str, data: bytes, mode: WriteMode = WriteMode.KEEP) -> None:
        split_key(key)
        if mode is WriteMode.CREATE and key in self.objects:
            raise Conflict(f"{key} exists already")
        if mode is not WriteMode.KEEP or key not in self.objects or is_addressed(key):
            self._set(key, data)

    async def put_many(self, objects: Mapping[str, bytes]) -> None:
        for key in objects:
            split_key(key)
        for key, data in objects.items():
            await self.put(key, data)

    async def quarantine(self, pieces: AsyncIterator[bytes], *, size_max: int) -> Quarantined:
        data = b"".join([piece async for piece in gathered(pieces, size_max=size_max)])
        token = str(next(self._tokens))
        self.quarantined[token] = data
        self._times[token] = time.time()
        return Quarantined(token, physical_hash(data), len(data))

    async def publish(self, quarantined: Quarantined, key: str) -> None:
        split_key(key)
        if quarantined.token not in self.quarantined:
            raise ObjectNotFound(f"nothing is quarantined as {quarantined.token!r}", hint="upload the object again")
        self._set(key, self.quarantined.pop(quarantined.token))

    async def discard(self, quarantined: Quarantined) -> None:
        self.quarantined.pop(quarantined.token, None)

    async def expire_quarantine(self, *, before: float, dry_run: bool = False) -> Infos:
        infos = [ObjectInfo(token, len(data), self._times[token]) for token, data in self.quarantined.items()]
        old = [info for info in infos if info.modified_at < before]
        for info in [] if dry_run else old:
            del self.quarantined[info.key]
        return old

    async def delete(self, key: str) -> None:
        split_key(key)
        self.objects.pop(key, None)

    def _get(self, key: str) -> bytes:
        split_key(key)
        try:
            return self.objects[key]
        except KeyError:
            raise ObjectNotFound(f"{key} is not in the store") from None

    def _set(self, key: str, data: bytes) -> None:
        self.objects[key] = bytes(data)
        self._times[key] = time.time()


class MemoryLeaseStore:
    """A LeaseStore for the tasks of one process."""

    def __init__(self) -> None:
        self.notes: dict[str, Lease] = {}
        self._tokens = count()

    async def place(self, kind: LeaseKind, contents: bytes) -> Lease:
        lease = Lease(str(next(self._tokens)), kind, contents, time.time())
        self.notes[lease.token] = lease
        return lease

    async def withdraw(self, lease: Lease) -> None:
        self.notes.pop(lease.token, None)

    async def standing(self) -> list[Lease]:
        return list(self.notes.values())

    async def confirm(self) -> None:
        """Nobody outlives them here."""


class MemoryRefStore:
    """A RefStore that forgets everything with the process. Nothing awaits between comparing and swapping."""

    def __init__(self) -> None:
        self.heads: dict[str, Multihash] = {}

    async def read(self, name: str) -> Multihash | None:
        check_block_ref(name)
        return self.heads.get(name)

    async def compare_and_swap(self, name: str, *, expected: Multihash | None, new: Multihash | None) -> None:
        check_block_ref(name)
        actual = self.heads.get(name)
        if actual != expected:
            raise ref_conflict(name, expected, actual)
        if new is None:
            self.heads.pop(name, None)
        else:
            self.heads[name] = new

    async def list(self) -> dict[str, Multihash]:
        return dict(self.heads)


class MemoryDerivedStore:
    """A DerivedStore of at most ``bytes_max`` bytes in this process."""

    def __init__(self, *, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._kept: dict[str, bytes] = {}

    async def read(self, name: str) -> bytes | None:
        data = self._kept.pop(name, None)
        if data is not None:
            self._kept[name] = data
        return data

    async def keep(self, name: str, data: bytes) -> None:
        self._kept.pop(name, None)
        if len(data) > self._bytes_max:
            return
        self._kept[name] = data
        while sum(map(len, self._kept.values())) > self._bytes_max:
            del self._kept[next(iter(self._kept))]
