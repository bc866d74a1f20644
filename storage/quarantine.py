"""Bytes that have arrived but are not proved: taken in, compared with what was promised, published or forgotten.

The one way an object enters a store, whether it came by HTTP, by a pull or from a file. Resumable uploads end here too.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from opendatafabric.errors import HashMismatch, LimitExceeded, SizeMismatch
from opendatafabric.multihash import Multihash
from storage.protocols import ObjectStore
from storage.values import Quarantined


async def receive_object(
    store: ObjectStore,
    key: str,
    pieces: AsyncIterator[bytes],
    *,
    expected_hash: Multihash,
    size_max: int,
    expected_size: int | None = None,
) -> int:
    """Store the object ``key`` from ``pieces``; its size. Nothing of it stays when anything is wrong.

    Raises:
        HashMismatch, SizeMismatch: the bytes are not the promised ones.
        LimitExceeded: more than ``size_max`` bytes; raised on the way, or at once when more are announced.
    """
    if expected_size is not None and expected_size > size_max:
        raise LimitExceeded(f"{key} is too large", expected=f"at most {size_max} bytes", found=expected_size)
    quarantined = await store.quarantine(_not_beyond(pieces, expected_size, key), size_max=size_max)
    await publish_if_proved(store, quarantined, key, expected_hash=expected_hash, expected_size=expected_size)
    return quarantined.size


async def publish_if_proved(
    store: ObjectStore,
    quarantined: Quarantined,
    key: str,
    *,
    expected_hash: Multihash,
    expected_size: int | None = None,
) -> None:
    """Publish ``quarantined`` as ``key`` if it is what was promised; forget it otherwise.

    Raises:
        HashMismatch, SizeMismatch: it is not.
    """
    try:
        _check(quarantined, key, expected_hash, expected_size)
        await store.publish(quarantined, key)
    except BaseException:
        await store.discard(quarantined)
        raise


def _check(quarantined: Quarantined, key: str, expected_hash: Multihash, expected_size: int | None) -> None:
    if expected_size is not None and quarantined.size != expected_size:
        raise _wrong_size(key, expected_size, quarantined.size)
    if quarantined.hash != expected_hash:
        raise HashMismatch(
            f"the bytes sent as {key} have another hash",
            expected=expected_hash,
            found=quarantined.hash,
            hint="the file changed or was damaged on the way; send it again",
        )


async def _not_beyond(pieces: AsyncIterator[bytes], expected_size: int | None, key: str) -> AsyncIterator[bytes]:
    size = 0
    async for piece in pieces:
        size += len(piece)
        if expected_size is not None and size > expected_size:
            raise _wrong_size(key, expected_size, f"{size} or more")
        yield piece


def _wrong_size(key: str, expected: int, found: object) -> SizeMismatch:
    return SizeMismatch(f"{key} was announced in another size", expected=f"{expected} bytes", found=f"{found} bytes")
