"""Refs that are not quite those of a dataset: a head that moves another ref, and a head that is fixed."""

from __future__ import annotations

from opendatafabric.block_ref import HEAD, STAGING
from opendatafabric.errors import UnsupportedOperation
from opendatafabric.multihash import Multihash
from storage.ref_text import ref_conflict
from storage.wrappers.passing import PassingRefStore

Refs = dict[str, Multihash]


class StagingRefs(PassingRefStore):
    """Reads as ``inner``; what would move its head moves the ref ``staging`` instead, wherever that points."""

    async def compare_and_swap(self, name: str, *, expected: Multihash | None, new: Multihash | None) -> None:
        if name != HEAD:
            await self.inner.compare_and_swap(name, expected=expected, new=new)
            return
        actual = await self.inner.read(HEAD)
        if actual != expected:
            raise ref_conflict(HEAD, expected, actual)
        await self.inner.compare_and_swap(STAGING, expected=await self.inner.read(STAGING), new=new)


class FixedHead:
    """A RefStore that knows one head and never moves it: a dataset as it was, or as it would be."""

    def __init__(self, head: Multihash) -> None:
        self._head = head

    async def read(self, name: str) -> Multihash | None:
        return self._head if name == HEAD else None

    async def compare_and_swap(self, name: str, *, expected: Multihash | None, new: Multihash | None) -> None:
        raise UnsupportedOperation("this head is only looked at")

    async def list(self) -> Refs:
        return {HEAD: self._head}
