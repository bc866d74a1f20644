"""Replacing one damaged or missing object by the right bytes from anywhere: its name says whether they are right."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

from opendatafabric.errors import HashMismatch, LimitExceeded, OdfError
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
        with suppress(HashMismatch, LimitExceeded, _SourceFailed):  # this one does not have it, or not the right bytes
            await receive_object(store, key, _read(source, key), expected_hash=expected_hash, size_max=OBJECT_BYTES_MAX)
            return True
    return False


class _SourceFailed(Exception):  # noqa: N818
    """The source cannot give the object, for whatever reason; ``store`` has nothing to do with it."""


async def _read(source: ObjectReader, key: str) -> AsyncIterator[bytes]:
    try:
        async for piece in source.stream(key):
            yield piece
    except OdfError as error:
        raise _SourceFailed(key) from error
