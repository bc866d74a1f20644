"""Replacing one damaged or missing object by the right bytes from anywhere: its name says whether they are right."""

from __future__ import annotations

from collections.abc import Sequence

from opendatafabric.errors import HashMismatch, LimitExceeded, NotFound, PeerUnavailable, SizeMismatch
from opendatafabric.layout import parse_key
from opendatafabric.limits import OBJECT_BYTES_MAX
from storage.protocols import ObjectReader, ObjectStore
from storage.quarantine import receive_object


async def heal(store: ObjectStore, key: str, sources: Sequence[ObjectReader]) -> bool:
    """Store ``key`` anew from the first of ``sources`` that has it; whether one had.

    What is stored stays as it is until the new bytes are whole and proved, and is then replaced, never written into:
    another file that shares its bytes is not touched.

    Raises:
        StorageError: ``store`` failed.
    """
    _, expected_hash = parse_key(key)
    for source in sources:
        try:
            await receive_object(store, key, source.stream(key), expected_hash=expected_hash, size_max=OBJECT_BYTES_MAX)
        except (NotFound, HashMismatch, SizeMismatch, LimitExceeded, PeerUnavailable):
            continue  # this one does not have it, or not the right bytes
        return True
    return False
