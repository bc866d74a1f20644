"""Where mirrors pull to: a repository with a catalog, where every dataset is somebody's and counts against a quota."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from catalog.amounts import Limits
from catalog.catalog import Catalog
from catalog.datasets import DatasetRecord
from catalog.quotas import Wish
from catalog.visibility import Visibility
from opendatafabric.chain.objects import ObjectFile
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import AccountId, DatasetId
from storage.dataset import Dataset
from storage.leases import to_its_end
from storage.repositories import DatasetRepository
from sync.smart.messages import Visibility as WireVisibility
from sync.transfer import RepositoryTarget

_ROOM_S: Final = 3_600.0
"""Room that a run keeps is free so long after its process died; what came of longer ones is measured afterwards."""


@dataclass(frozen=True, slots=True)
class MirrorPlace:
    """What mirrors copy from and to; what is pulled belongs to ``owner_id``, and ``limits`` count where no quota was
    set. ``now`` in seconds since 1970."""

    repository: DatasetRepository
    catalog: Catalog
    owner_id: AccountId
    now: Callable[[], float]
    limits: Limits


class HostedTarget:
    """The place of a pulled dataset in a repository with a catalog: whose it is, is written down when it is made."""

    def __init__(self, place: MirrorPlace, alias: DatasetAlias) -> None:
        self._place = place
        self._alias = alias
        self._target = RepositoryTarget(place.repository, alias)
        self._dataset: Dataset | None = None
        self._dataset_id: DatasetId | None = None
        self._room: str | None = None

    @property
    def dataset(self) -> Dataset:
        """The dataset that was pulled."""
        assert self._dataset is not None
        return self._dataset

    async def find(self) -> Dataset | None:
        self._dataset = await self._target.find()
        self._dataset_id = None if self._dataset is None else (await self._dataset.seed()).dataset_id
        return self._dataset

    async def create(self, dataset_id: DatasetId, visibility: WireVisibility) -> Dataset:
        catalog, owner_id = self._place.catalog, self._place.owner_id
        if await catalog.datasets.find(dataset_id) is None:
            await catalog.quotas.check_new_dataset(owner_id, self._place.limits)
        self._dataset, self._dataset_id = await self._target.create(dataset_id, visibility), dataset_id
        known = Visibility(visibility.lower())
        await catalog.datasets.put(DatasetRecord(dataset_id, self._alias, owner_id, known))
        return self._dataset

    async def admit(self, files: Sequence[ObjectFile]) -> None:
        """Keep room for what is to come.

        Raises:
            QuotaExceeded: there is none.
        """
        assert self._dataset_id is not None
        record = await self._place.catalog.datasets.find(self._dataset_id)
        owner_id = self._place.owner_id if record is None else record.owner_id
        wish = Wish(self._dataset_id, owner_id, {str(file.physical_hash): file.size for file in files})
        self._room = await self._place.catalog.quotas.reserve(wish, self._place.limits, lease_s=_ROOM_S)

    async def let_go(self) -> None:
        """What came counts until the dataset is measured, which is soon."""
        kept, self._room = self._room, None
        if kept is not None:
            await to_its_end(self._place.catalog.quotas.let_go(kept))
