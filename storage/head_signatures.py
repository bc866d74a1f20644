"""The signatures of a dataset's heads: one file beside the chain, local to the place, the newest so many."""

from __future__ import annotations

from typing import Final

import orjson

from opendatafabric.errors import ObjectNotFound, StorageError, TransientStorageError
from opendatafabric.head_signature import HeadSignature
from opendatafabric.layout import INFO_SIGNATURES
from opendatafabric.multihash import Multihash
from opendatafabric.server_limits import HEAD_SIGNATURES_MAX
from storage.protocols import ObjectReader, ObjectStore
from storage.values import WriteMode

_BYTES_MAX: Final = HEAD_SIGNATURES_MAX * 1_024
_TRIES_MAX: Final = 8


async def read_signatures(objects: ObjectReader) -> list[HeadSignature]:
    """Every signature that is kept, the newest last; each is checked.

    Raises:
        StorageError: the file is damaged.
    """
    try:
        raw = await objects.read(INFO_SIGNATURES, size_max=_BYTES_MAX)
    except ObjectNotFound:
        return []
    try:
        return [HeadSignature.read(each) for each in orjson.loads(raw)]
    except (ValueError, TypeError, AttributeError):
        raise StorageError(f"{INFO_SIGNATURES} is damaged", hint="remove it, and sign the head again") from None


async def add_signature(objects: ObjectStore, signature: HeadSignature) -> None:
    """Keep a signature. Two that are added at once are both kept: each looks whether its own is there.

    Raises:
        TransientStorageError: others wrote again and again.
    """
    for _ in range(_TRIES_MAX):
        known = await read_signatures(objects)
        if signature in known:
            return
        kept = [each.as_dict() for each in (*known, signature)][-HEAD_SIGNATURES_MAX:]
        await objects.put(INFO_SIGNATURES, orjson.dumps(kept), WriteMode.REPLACE)
    raise TransientStorageError("the signature was lost among those of others", hint="repeat")


async def is_signed(objects: ObjectReader, head: Multihash, key: object) -> bool:
    """Whether that key signed ``head``."""
    return any(each.head == head and each.key == key for each in await read_signatures(objects))
