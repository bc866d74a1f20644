"""Stores that pass every call on to another one, so that each wrapper writes only what it adds."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import cast

from opendatafabric.limits import BLOCK_BYTES_MAX
from opendatafabric.multihash import Multihash
from storage.protocols import LeaseStore, ObjectReader, ObjectStore, PresigningStore, RefStore
from storage.values import ByteRange, Capabilities, Followed, ObjectInfo, PresignedUpload, Quarantined, WriteMode

Infos = list[ObjectInfo]


class PassingObjectStore:
    """An ObjectStore that is ``inner``."""

    def __init__(self, inner: ObjectStore) -> None:
        self.inner = inner

    @property
    def capabilities(self) -> Capabilities:
        return self.inner.capabilities

    @property
    def leases(self) -> LeaseStore:
        return self.inner.leases

    async def stat(self, key: str) -> ObjectInfo:
        return await self.inner.stat(key)

    async def read(self, key: str, *, size_max: int = BLOCK_BYTES_MAX) -> bytes:
        return await self.inner.read(key, size_max=size_max)

    def stream(self, key: str, byte_range: ByteRange | None = None) -> AsyncIterator[bytes]:
        return self.inner.stream(key, byte_range)

    async def follow(self, key: str, next_key: Callable[[bytes], str | None], *, count_max: int) -> Followed:
        return await self.inner.follow(key, next_key, count_max=count_max)

    # --- where ``capabilities.presigned`` says so

    async def sign_downloads(self, keys: Sequence[str], *, lifetime_s: int) -> list[str]:
        return await cast(PresigningStore, self.inner).sign_downloads(keys, lifetime_s=lifetime_s)

    async def sign_uploads(self, sizes: Sequence[int], *, lifetime_s: int) -> list[PresignedUpload]:
        return await cast(PresigningStore, self.inner).sign_uploads(sizes, lifetime_s=lifetime_s)

    async def examine(self, upload: PresignedUpload) -> Quarantined:
        return await cast(PresigningStore, self.inner).examine(upload)

    def list(self, prefix: str = "") -> AsyncIterator[ObjectInfo]:
        return self.inner.list(prefix)

    def local_path(self, key: str) -> Path | None:
        return self.inner.local_path(key)

    async def put(self, key: str, data: bytes, mode: WriteMode = WriteMode.KEEP) -> None:
        await self.inner.put(key, data, mode)

    async def put_many(self, objects: Mapping[str, bytes]) -> None:
        await self.inner.put_many(objects)

    async def quarantine(self, pieces: AsyncIterator[bytes], *, size_max: int) -> Quarantined:
        return await self.inner.quarantine(pieces, size_max=size_max)

    async def publish(self, quarantined: Quarantined, key: str) -> None:
        await self.inner.publish(quarantined, key)

    async def discard(self, quarantined: Quarantined) -> None:
        await self.inner.discard(quarantined)

    async def expire_quarantine(self, *, before: float, dry_run: bool = False) -> Infos:
        return await self.inner.expire_quarantine(before=before, dry_run=dry_run)

    async def delete(self, key: str) -> None:
        await self.inner.delete(key)


def innermost(store: ObjectReader) -> ObjectReader:
    """The store that all wrappers are around."""
    while isinstance(store, PassingObjectStore):
        store = store.inner
    return store


class PassingRefStore:
    """A RefStore that is ``inner``."""

    def __init__(self, inner: RefStore) -> None:
        self.inner = inner

    async def read(self, name: str) -> Multihash | None:
        return await self.inner.read(name)

    async def compare_and_swap(self, name: str, *, expected: Multihash | None, new: Multihash | None) -> None:
        await self.inner.compare_and_swap(name, expected=expected, new=new)

    async def list(self) -> dict[str, Multihash]:
        return await self.inner.list()
