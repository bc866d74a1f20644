"""What every repository does, wherever its datasets lie: the contract of ``Repository`` and of ``S3Repository``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from opendatafabric.dataset_ref import DatasetAlias, DatasetRef
from opendatafabric.did import DatasetId
from storage.folders import RepositoryLayout, RetiredDataset
from storage.places import DatasetPlace
from storage.repository import DatasetEntry
from storage.values import FsckFinding


class DatasetRepository(Protocol):
    """A place that holds many datasets; several processes may work on it at once."""

    @property
    def layout(self) -> RepositoryLayout:
        """Where new datasets go."""
        ...

    async def check(self) -> None:
        """Return if it can be used now; ``StorageError`` says why not."""
        ...

    async def find(self, ref: DatasetRef, *, include_pending: bool = False) -> DatasetEntry:
        """The dataset of that id or alias; ``DatasetNotFound`` when there is none that may be seen."""
        ...

    def iterate(self, *, include_pending: bool = False) -> AsyncIterator[DatasetEntry]:
        """Every dataset in the order of the aliases."""
        ...

    def address_of(self, entry: DatasetEntry) -> str:
        """What opens a dataset of this repository alone."""
        ...

    async def create(self, alias: DatasetAlias, dataset_id: DatasetId) -> DatasetEntry:
        """A dataset that is invisible until its head is set; creating the same one again while it is, is fine.

        ``RefCollision`` when the id exists, ``NameCollision`` when the alias belongs to another.
        """
        ...

    async def rename(self, ref: DatasetRef, alias: DatasetAlias) -> DatasetEntry:
        """Give a dataset another alias; ``NameCollision`` when it is taken."""
        ...

    async def delete(self, ref: DatasetRef) -> None:
        """Remove a dataset; readers find it whole or not at all."""
        ...

    async def retire(self, ref: DatasetRef) -> None:
        """Take a dataset from sight and keep it as it is: nobody finds, reads or writes it, and its name is free.

        Whoever is writing to it fails. Done again by id, after a crash, it comes to its end.
        """
        ...

    async def restore(self, dataset_id: DatasetId, alias: DatasetAlias) -> DatasetEntry:
        """Bring back what was retired, under that alias.

        ``DatasetNotFound`` when it is not kept, ``NameCollision`` when the alias is taken.
        """
        ...

    async def discard(self, dataset_id: DatasetId) -> None:
        """Remove what was retired; ``DatasetNotFound`` when it is not kept."""
        ...

    async def retired(self) -> Sequence[RetiredDataset]:
        """What ``restore`` can bring back."""
        ...

    def places(self) -> AsyncIterator[DatasetPlace]:
        """As ``iterate``, pending and damaged ones too, as far as there is something left to look at."""
        ...

    async def strays(self) -> Sequence[FsckFinding]:
        """As in ``Inspected``, for what belongs to no dataset."""
        ...

    async def sweep(self, *, unused_for_s: float, now: float | None = None) -> Sequence[object]:
        """Remove what nobody finished in that long; what was removed."""
        ...
