"""A dataset as far as it is on this machine: itself, if it lies here; else its chain, and the slices that were read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Final

import aiohttp

from odf_client.address import Address
from odf_client.cache import Cache
from odf_client.slice_files import SliceFiles
from opendatafabric.chain.objects import ObjectFile, objects_of
from opendatafabric.errors import ChainsDiverged, DatasetNotFound, RefConflict, TransferRejected
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset
from storage.open import CAR_SUFFIX, open_dataset
from storage.progress import Progress, silent
from storage.protocols import ObjectReader
from storage.records.moment import KnownHeads
from sync.objects import copy_objects
from sync.pull import pull_dataset
from sync.remote import RemoteLocation
from sync.transfer import DatasetTarget, TransferOptions, TransferResult, TransferTarget

_TRIES: Final = 5


class Held:
    """What is here of the dataset at ``address``, and how more comes."""

    def __init__(self, address: Address, cache: Cache) -> None:
        self.address, self.cache = address, cache
        self.lies_here = address.is_local and not address.text.endswith(CAR_SUFFIX)
        self.here: Dataset = open_dataset(address.text) if self.lies_here else cache.dataset_at(address.url)
        self.slices = SliceFiles(self.here, None if self.lies_here else self._source)
        self.heads = KnownHeads()

    async def refresh(self, *, replace: bool = False, progress: Progress = silent) -> Multihash:
        """Bring the chain up to where it is now; every block is checked against its hash and the rules.

        Raises:
            DatasetNotFound: there is none, or not for this token.
            ChainsDiverged: another chain is there than before, and ``replace`` is off.
            OdfError: whatever else ``pull_dataset`` raises.
        """
        head = await self.here.head() if self.lies_here else await self._followed(replace=replace, progress=progress)
        if head is None:
            raise DatasetNotFound(f"there is no dataset at {self.address.shown}", hint="is the name right?")
        return head

    async def pull_into(self, target: TransferTarget, options: TransferOptions, progress: Progress) -> TransferResult:
        """Bring ``target`` up to the dataset at the address; errors as ``pull_dataset``."""
        async with aiohttp.ClientSession() as session:

            def pull(source: RemoteLocation) -> Awaitable[TransferResult]:
                token = self.address.bearer
                return pull_dataset(session, source, target, token=token, options=options, progress=progress)

            if not self.address.is_web:
                return await pull(self.address.as_walked())
            try:
                return await pull(self.address.as_asked())
            except (DatasetNotFound, TransferRejected):
                if self.address.says_how:
                    raise
            return await pull(self.address.as_walked())  # a web server over a folder holds no conversations

    async def complete(self, progress: Progress) -> None:
        """Fetch every object that the chain names and that is not here."""
        if self.lies_here:
            return
        head = await self.here.head()
        files: list[ObjectFile] = []
        assert head is not None
        async for batch in self.here.walk(head):
            files += [file for block in batch for file in objects_of(block)]
        missing = await self.here.missing_objects(files)
        async with self._source() as source:
            await copy_objects(source, self.here.writable_objects(), missing, progress=progress)

    async def _followed(self, *, replace: bool, progress: Progress) -> Multihash | None:
        options = TransferOptions(metadata_only=True, force=replace)
        for attempt in range(_TRIES):
            try:
                return (await self.pull_into(DatasetTarget(self.here), options, progress)).new_head
            except RefConflict:  # another process of this user did the same
                if attempt + 1 == _TRIES:
                    raise
            except ChainsDiverged as error:
                raise ChainsDiverged(
                    f"at {self.address.shown} is another chain than when it was last read",
                    expected=error.expected,
                    found=error.found,
                    hint="open(…, replace=True) takes the one that is there now",
                ) from error
        raise AssertionError("a loop over at least one attempt returns or raises")

    @asynccontextmanager
    async def _source(self) -> AsyncIterator[ObjectReader]:
        async with aiohttp.ClientSession() as session:
            yield open_dataset(self.address.as_walked().url, self.address.connection(session)).objects
