"""Derived bytes: the seal by which damage is noticed, and a near store before a distant one."""

from __future__ import annotations

import hashlib
from typing import Final

from storage.protocols import DerivedStore

SEAL_BYTES: Final = 32


def seal(name: str, data: bytes | memoryview) -> bytes:
    """What is kept before ``data``, so that bytes cut off, damaged or misplaced are noticed."""
    # Nobody else reads these, so it need not be the hash of the format: this one takes half the time.
    digest = hashlib.blake2b(name.encode() + b"\0", digest_size=SEAL_BYTES)
    digest.update(data)
    return digest.digest()


def unsealed(name: str, sealed: bytes) -> bytes | None:
    """The data behind its seal, if it is that of ``name`` and whole."""
    data = memoryview(sealed)[SEAL_BYTES:]
    return bytes(data) if sealed[:SEAL_BYTES] == seal(name, data) else None


class NearDerivedStore:
    """What lies in ``distant`` is kept in ``near`` too, once it was used."""

    def __init__(self, near: DerivedStore, distant: DerivedStore) -> None:
        self._near, self._distant = near, distant

    async def read(self, name: str) -> bytes | None:
        data = await self._near.read(name)
        if data is None:
            data = await self._distant.read(name)
            if data is not None:
                await self._near.keep(name, data)
        return data

    async def keep(self, name: str, data: bytes) -> None:
        await self._near.keep(name, data)
        await self._distant.keep(name, data)
