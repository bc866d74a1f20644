"""What one caller may read of what is published: blocks by CID, files, names. Nothing is ever fetched from elsewhere.

A block counts as absent unless some dataset that has it is one that the caller may read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from catalog.ipns import StoredRecord
from catalog.permissions import Access
from opendatafabric.errors import HashMismatch, NotFound, ObjectNotFound, StorageError
from opendatafabric.ipfs.cid import Cid, HashFunction
from opendatafabric.ipfs.ipns import IpnsName
from opendatafabric.limits import IPFS_BLOCK_BYTES_MAX
from repo_server.directory import Hosted
from repo_server.gate import access_of
from repo_server.identity import Caller
from repo_server.services import Services
from storage.ipfs.blocks import read_place
from storage.ipfs.index import Place
from storage.protocols import ObjectReader


@dataclass(frozen=True, slots=True)
class Found:
    """A place, in a dataset that the caller may read."""

    place: Place
    objects: ObjectReader

    @property
    def is_object(self) -> bool:
        """Whether it is a whole object, of any size."""
        return self.place.data is None and self.place.size is None


@dataclass(frozen=True, slots=True)
class Shelf:
    """Published blocks as ``caller`` sees them."""

    services: Services
    caller: Caller

    async def find_block(self, cid: Cid) -> Found | None:
        """Where the block of ``cid`` lies."""
        return await self._readable(await self.services.catalog.ipfs.find_block(cid))

    async def find_file(self, cid: Cid) -> Found | None:
        """The whole object that is the file ``cid``."""
        return await self._readable(await self.services.catalog.ipfs.find_file(cid))

    async def has(self, cid: Cid) -> bool:
        """Whether the block of ``cid`` can be read."""
        return cid.function is HashFunction.IDENTITY or await self.find_block(cid) is not None

    async def read(self, cid: Cid) -> bytes:
        """The block of ``cid``, checked.

        Raises:
            ObjectNotFound: absent for this caller.
            StorageError: what lies there is damaged.
        LimitExceeded: an object that is larger than blocks of IPFS are.
        """
        if cid.function is HashFunction.IDENTITY:
            return cid.digest
        found = await self.find_block(cid)
        if found is None:
            raise ObjectNotFound(f"{cid} is not here", hint="this server gives out its own datasets alone")
        if found.is_object:
            return await found.objects.read(found.place.key, size_max=IPFS_BLOCK_BYTES_MAX)
        try:
            return await read_place(found.place, cid, found.objects)
        except HashMismatch as error:
            raise StorageError(error.message, hint=error.hint) from error

    async def record_of(self, name: IpnsName) -> StoredRecord:
        """The record of a name.

        Raises:
            NotFound: no name of a dataset that the caller may read.
        """
        record = await self.services.catalog.ipns.of_name(str(name))
        if record is None or await self._dataset(Place(record.dataset_id)) is None:
            raise NotFound(f"{name} is no name of a dataset here")
        return record

    async def _readable(self, places: Sequence[Place]) -> Found | None:
        for place in places:
            hosted = await self._dataset(place)
            if hosted is not None:
                return Found(place, hosted.entry.dataset.objects)
        return None

    async def _dataset(self, place: Place) -> Hosted | None:
        hosted = await self.services.directory.find(place.dataset_id)
        if hosted is None or hosted.entry.pending:
            return None
        access = await access_of(self.services, hosted, self.caller)
        return hosted if access >= Access.READ else None
