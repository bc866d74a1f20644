"""A dataset in a bucket whose chain is read in segments: they lie in ``.segments/`` beside its blocks.

Whoever may write there leaves them for all servers; whoever may not reads block by block where there are none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

import obstore

from opendatafabric.errors import OdfError
from opendatafabric.limits import SEGMENT_BYTES_MAX
from storage.derived import SEAL_BYTES, NearDerivedStore, seal, unsealed
from storage.protocols import DerivedStore
from storage.reading import followed
from storage.s3.client import bucket_at
from storage.s3.errors import ConditionError, translated
from storage.s3.location import S3Location
from storage.s3.presign import S3PresigningStore
from storage.segments import Segments
from storage.values import Followed

SEGMENTS_FOLDER: Final = ".segments"
_BYTES_MAX: Final = SEAL_BYTES + 2 * SEGMENT_BYTES_MAX


class S3DerivedStore:
    """A DerivedStore in ``.segments/`` of a place in a bucket; what lies there goes with the dataset."""

    def __init__(self, location: S3Location) -> None:
        self._place = location.below(SEGMENTS_FOLDER)
        self._bucket = bucket_at(location.bucket, location.endpoint)

    async def read(self, name: str) -> bytes | None:
        with suppress(OdfError, ConditionError), translated(f"read {name}"):
            result = await obstore.get_async(await self._bucket.store(), self._place.path(name))
            if result.meta["size"] <= _BYTES_MAX:
                return await asyncio.to_thread(unsealed, name, bytes(await result.bytes_async()))
        return None

    async def keep(self, name: str, data: bytes) -> None:
        if len(data) + SEAL_BYTES > _BYTES_MAX:
            return
        sealed = await asyncio.to_thread(lambda: seal(name, data) + data)
        with suppress(OdfError, ConditionError), translated(f"keep {name}"):
            await obstore.put_async(await self._bucket.store(), self._place.path(name), sealed, use_multipart=False)


class S3SegmentedStore(S3PresigningStore):
    """An S3PresigningStore that follows chains by segments; ``near`` is where this machine keeps those it used.

    What is damaged or missing among the blocks themselves is not noticed by following: who looks for that reads them.
    """

    def __init__(self, location: S3Location, near: DerivedStore) -> None:
        super().__init__(location)
        self._derived = NearDerivedStore(near, S3DerivedStore(location))
        self._segments = Segments(self._derived)

    async def follow(self, key: str, next_key: Callable[[bytes], str | None], *, count_max: int) -> Followed:
        return await followed(self._segments.reading(self.read), key, next_key, count_max=count_max)

    async def put_many(self, objects: Mapping[str, bytes]) -> None:
        await super().put_many(objects)
        await Segments(self._derived).keep(objects)
