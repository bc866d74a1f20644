"""A repository in a bucket: datasets by id, as servers of the reference store them, for any number of servers at once.

There is no lock. ``<id>/info/alias`` makes a dataset exist, ``.names/<alias>`` makes its name unique; both change by
compare-and-swap alone. The alias is written before the name is claimed, so a name whose dataset says another alias is
left over from a change that was cut short, and whoever wants it may take it.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Final

import obstore

from opendatafabric.dataset_ref import DatasetAlias, DatasetRef
from opendatafabric.did import DatasetId
from opendatafabric.errors import (
    DatasetNotFound,
    MalformedIdentifier,
    NameCollision,
    NotARepository,
    RefCollision,
    RefConflict,
    TransientStorageError,
)
from opendatafabric.layout import INFO_ALIAS
from opendatafabric.limits import S3_REQUESTS_AT_ONCE, S3_RETRIES_MAX
from storage.chain_states import ChainStates
from storage.dataset import Dataset
from storage.folders import MARKER_NAME, NAMELESS, RepositoryLayout, RetiredDataset, id_in_name
from storage.places import DatasetPlace
from storage.protocols import DerivedStore
from storage.repository import DatasetEntry
from storage.retired import not_retired, was_deleted
from storage.s3.at_once import at_once
from storage.s3.cells import Cell, Cells
from storage.s3.client import bucket_at
from storage.s3.errors import translated
from storage.s3.leftovers import delete_all, last_change
from storage.s3.location import S3Location
from storage.s3.parked_head import bring_head_back, forget_parked, park_head
from storage.s3.presign import S3PresigningStore
from storage.s3.probe import require_conditions
from storage.s3.records import LEAVING, alias_in, kept_alias_in, kept_record
from storage.s3.refs import S3RefStore
from storage.s3.segments import S3SegmentedStore
from storage.values import FsckFinding

_NAMES: Final = ".names"
_NAME_REMEDY: Final = "write the name there, as ACCOUNT/NAME, with any client of S3"


class S3Repository:
    """The datasets below ``location``; made by ``open`` or ``init``."""

    def __init__(self, location: S3Location, *, near: DerivedStore | None = None) -> None:
        self.location = location
        self.layout = RepositoryLayout.BY_ID
        self._near = near
        self._bucket = bucket_at(location.bucket, location.endpoint)
        self._cells = Cells(self._bucket)
        self._states = ChainStates()

    @classmethod
    async def init(cls, location: S3Location) -> S3Repository:
        """Make a repository, and its bucket, or open the one that is there.

        Raises:
            UnsupportedOperation: the store does not honour conditional writes.
        """
        repository = cls(location)
        await repository._bucket.make()
        await require_conditions(repository._bucket, location)
        path = location.path(MARKER_NAME)
        await repository._cells.swap(path, Cell(), f"{RepositoryLayout.BY_ID.value}\n".encode())
        return repository

    @classmethod
    async def open(cls, location: S3Location, *, near: DerivedStore | None = None) -> S3Repository:
        """The repository at ``location``; with ``near`` its chains are walked by segments, which are kept there too.

        Raises:
            NotARepository: there is none.
            UnsupportedOperation: the store does not honour conditional writes.
        """
        repository = cls(location, near=near)
        if (await repository._cells.read(location.path(MARKER_NAME))).value is None:
            raise NotARepository(f"{location} is no repository", hint=f"make one with: odf init {location}")
        await require_conditions(repository._bucket, location)
        return repository

    async def check(self) -> None:
        """As in ``DatasetRepository``."""
        await self._cells.read(self.location.path(MARKER_NAME))

    # --- finding

    async def find(self, ref: DatasetRef, *, include_pending: bool = False) -> DatasetEntry:
        """The dataset of that id or alias; errors as ``Repository.find``."""
        found = await (self._by_id(ref) if isinstance(ref, DatasetId) else self._by_alias(ref))
        if found is None or (found.pending and not include_pending):
            raise DatasetNotFound(f"dataset {ref} is not in the repository", hint="odf list shows what is")
        return found

    async def iterate(self, *, include_pending: bool = False) -> AsyncIterator[DatasetEntry]:
        """Every dataset in the order of the aliases. Those that another program laid down get their names claimed."""
        found = await at_once(self._by_id, await self._ids())
        for entry in sorted((each for each in found if each is not None), key=lambda each: each.alias):
            if entry.pending and not include_pending:
                continue
            with suppress(NameCollision):
                await self._claim_name(entry.alias, entry.id)
            yield entry

    def address_of(self, entry: DatasetEntry) -> str:
        """As in ``DatasetRepository``."""
        return str(self._place(entry.id))

    async def places(self) -> AsyncIterator[DatasetPlace]:
        """As in ``DatasetRepository``; a dataset without a readable name is called as in a folder."""
        found = await at_once(self._place_of, await self._ids())
        for place in sorted((each for each in found if each is not None), key=lambda each: each.alias):
            yield place

    async def strays(self) -> list[FsckFinding]:
        """Datasets that nobody finds because their alias cannot be read."""
        found = await at_once(self._nameless, await self._ids())
        return [each for each in found if each is not None]

    async def _place_of(self, dataset_id: DatasetId) -> DatasetPlace | None:
        cell = await self._cells.read(self._record(dataset_id))
        if cell.value == LEAVING or kept_alias_in(cell) is not None:
            return None
        entry = await self._entry(dataset_id, alias_in(cell) or NAMELESS)
        if cell.value is None and entry.pending:
            return None  # deleted
        address = self.address_of(entry)
        return DatasetPlace(entry.place, address, entry.alias, dataset_id, entry.pending, entry.dataset)

    async def _nameless(self, dataset_id: DatasetId) -> FsckFinding | None:
        cell = await self._cells.read(self._record(dataset_id))
        if alias_in(cell) is not None or await self._place_of(dataset_id) is None:
            return None
        key = f"{dataset_id.multibase}/{INFO_ALIAS}"
        return FsckFinding("damaged-alias", key, "no name, so that nobody finds the dataset", _NAME_REMEDY)

    async def _by_id(self, dataset_id: DatasetId) -> DatasetEntry | None:
        alias = alias_in(await self._cells.read(self._record(dataset_id)))
        return None if alias is None else await self._entry(dataset_id, alias)

    async def _by_alias(self, alias: DatasetAlias) -> DatasetEntry | None:
        dataset_id = _id_in(await self._cells.read(self._name(alias)))
        found = None if dataset_id is None else await self._by_id(dataset_id)
        return found if found is not None and found.alias == alias else None

    async def _entry(self, dataset_id: DatasetId, alias: DatasetAlias) -> DatasetEntry:
        place = self._place(dataset_id)
        dataset = Dataset(self._objects(place), S3RefStore(place), states=self._states)
        try:
            pending = await dataset.head() is None
        except MalformedIdentifier:
            pending = False  # a damaged head is for fsck to tell
        return DatasetEntry(dataset_id, alias, dataset, None, pending)

    # --- changing

    async def create(self, alias: DatasetAlias, dataset_id: DatasetId) -> DatasetEntry:
        """A pending dataset, as ``Repository.create``; errors too."""
        for _ in range(S3_RETRIES_MAX):
            cell = await self._cells.read(self._record(dataset_id))
            if await self._may_create(cell, alias, dataset_id):
                break
            if await self._cells.swap(self._record(dataset_id), cell, str(alias).encode()):
                break
        try:
            await self._claim_name(alias, dataset_id)
        except NameCollision:
            await self._empty(self._record(dataset_id), str(alias).encode())
            raise
        return await self._entry(dataset_id, alias)

    async def _may_create(self, cell: Cell, alias: DatasetAlias, dataset_id: DatasetId) -> bool:
        """Whether the same dataset is being created already; ``False`` when the place is free."""
        if cell.value is None:
            return False
        if cell.value == LEAVING:
            raise RefCollision(f"dataset {dataset_id} is being deleted", found=dataset_id, hint="try again soon")
        if kept_alias_in(cell) is not None:
            raise was_deleted(dataset_id)
        there = await self._by_id(dataset_id)
        if there is None or not there.pending or there.alias != alias:
            raise RefCollision(f"dataset {dataset_id} exists already", found=dataset_id)
        return True

    async def rename(self, ref: DatasetRef, alias: DatasetAlias) -> DatasetEntry:
        """Give a dataset another alias; errors as ``Repository.rename``."""
        entry = await self.find(ref, include_pending=True)
        record, old = self._record(entry.id), str(entry.alias).encode()
        await self._replace(record, old, str(alias).encode())
        try:
            await self._claim_name(alias, entry.id)
        except NameCollision:
            await self._replace(record, str(alias).encode(), old)
            raise
        if entry.alias != alias:
            await self._empty(self._name(entry.alias), entry.id.multibase.encode())
        return await self.find(alias, include_pending=True)

    async def delete(self, ref: DatasetRef) -> None:
        """Remove a dataset: invisible first, then its refs, then the rest; errors as ``Repository.delete``."""
        entry = await self.find(ref, include_pending=True)
        await self._replace(self._record(entry.id), str(entry.alias).encode(), LEAVING)
        await self._empty(self._name(entry.alias), entry.id.multibase.encode())
        await self._remove(entry.id)

    async def retire(self, ref: DatasetRef) -> None:
        """As in ``DatasetRepository``: invisible first, then its head is put aside, so that nobody moves it."""
        begun = await self._retired(ref) if isinstance(ref, DatasetId) else None
        if begun is None:
            entry = await self.find(ref)
            begun = RetiredDataset(entry.id, entry.alias)
            await self._replace(self._record(begun.id), str(begun.alias).encode(), kept_record(begun.alias))
        await park_head(S3RefStore(self._place(begun.id)))
        await self._empty(self._name(begun.alias), begun.id.multibase.encode())

    async def restore(self, dataset_id: DatasetId, alias: DatasetAlias) -> DatasetEntry:
        """As in ``DatasetRepository``."""
        kept = await self._kept_record(dataset_id)
        refs = S3RefStore(self._place(dataset_id))
        await bring_head_back(refs)
        await self._replace(self._record(dataset_id), kept, str(alias).encode())
        try:
            await self._claim_name(alias, dataset_id)
        except NameCollision:
            await self._replace(self._record(dataset_id), str(alias).encode(), kept)
            await park_head(refs)
            raise
        await forget_parked(refs)
        return await self.find(dataset_id)

    async def discard(self, dataset_id: DatasetId) -> None:
        """As in ``DatasetRepository``."""
        await self._replace(self._record(dataset_id), await self._kept_record(dataset_id), LEAVING)
        await self._remove(dataset_id)

    async def retired(self) -> Sequence[RetiredDataset]:
        """As in ``DatasetRepository``."""
        found = await at_once(self._retired, await self._ids())
        return [each for each in found if each is not None]

    async def _retired(self, dataset_id: DatasetId) -> RetiredDataset | None:
        alias = kept_alias_in(await self._cells.read(self._record(dataset_id)))
        return None if alias is None else RetiredDataset(dataset_id, alias)

    async def _kept_record(self, dataset_id: DatasetId) -> bytes:
        found = await self._retired(dataset_id)
        if found is None:
            raise not_retired(dataset_id)
        return kept_record(found.alias)

    async def sweep(self, *, unused_for_s: float, now: float | None = None) -> list[str]:
        """As ``Repository.sweep``."""
        before = (time.time() if now is None else now) - unused_for_s
        removed = await at_once(lambda found: self._sweep_one(found, before), await self._ids())
        return [each for each in removed if each is not None]

    async def _sweep_one(self, dataset_id: DatasetId, before: float) -> str | None:
        record = await self._cells.read(self._record(dataset_id))
        if record.value is None:
            return None
        entry = None if record.value == LEAVING else await self._by_id(dataset_id)
        if record.value != LEAVING and (entry is None or not entry.pending):
            return None
        if await last_change(self._bucket, self._place(dataset_id)) >= before:
            return None
        if entry is not None:
            await self._replace(self._record(dataset_id), str(entry.alias).encode(), LEAVING)
        await self._remove(dataset_id)
        return str(dataset_id)

    async def _remove(self, dataset_id: DatasetId) -> None:
        refs = S3RefStore(self._place(dataset_id))
        for name, head in (await refs.list()).items():
            with suppress(RefConflict):
                await refs.compare_and_swap(name, expected=head, new=None)
        await delete_all(self._bucket, self._place(dataset_id), but=self._record(dataset_id))
        await self._empty(self._record(dataset_id), LEAVING)

    async def _claim_name(self, alias: DatasetAlias, dataset_id: DatasetId) -> None:
        for _ in range(S3_REQUESTS_AT_ONCE):
            cell = await self._cells.read(self._name(alias))
            holder = _id_in(cell)
            if holder == dataset_id:
                return
            other = None if holder is None else await self._by_id(holder)
            if other is not None and other.alias == alias:
                raise NameCollision(f"the name {alias} is taken by another dataset", found=alias)
            if await self._cells.swap(self._name(alias), cell, dataset_id.multibase.encode()):
                return
        raise TransientStorageError(f"the name {alias} changes too often", hint="try again")

    async def _replace(self, path: str, old: bytes, new: bytes) -> None:
        cell = await self._cells.read(path)
        if cell.value != old or not await self._cells.swap(path, cell, new):
            raise DatasetNotFound("the dataset was changed by somebody else meanwhile", hint="look at it again")

    async def _empty(self, path: str, old: bytes) -> None:
        cell = await self._cells.read(path)
        if cell.value == old:
            await self._cells.swap(path, cell, None)

    # --- places

    async def _ids(self) -> list[DatasetId]:
        store = await self._bucket.store()
        with translated(f"list {self.location}"):
            listed = await obstore.list_with_delimiter_async(store, self.location.prefix or None)
        ids = (id_in_name(prefix.rstrip("/").rpartition("/")[2]) for prefix in listed["common_prefixes"])
        return [each for each in ids if each is not None]

    def _objects(self, place: S3Location) -> S3PresigningStore:
        return S3PresigningStore(place) if self._near is None else S3SegmentedStore(place, self._near)

    def _place(self, dataset_id: DatasetId) -> S3Location:
        return self.location.below(dataset_id.multibase)

    def _record(self, dataset_id: DatasetId) -> str:
        return self._place(dataset_id).path(INFO_ALIAS)

    def _name(self, alias: DatasetAlias) -> str:
        return self.location.path(f"{_NAMES}/{alias}".lower())


def _id_in(cell: Cell) -> DatasetId | None:
    return None if cell.value is None else id_in_name(cell.value.decode(errors="replace"))
