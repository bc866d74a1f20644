"""Making staged blocks the head of their datasets: of one, or of several together, all or none.

No store moves heads of several datasets at once. So a journal says first which are to move; then they do, one after
another, each only from where it was. If one is somewhere else, those that have moved go back. Whoever finds a journal
that was broken off does the same: on to the end if every head is at its beginning or its end, else back.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from catalog.gates import Gates, HeadToMove
from opendatafabric.block_ref import HEAD, STAGING
from opendatafabric.did import DatasetId
from opendatafabric.errors import OdfError, RefConflict
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset
from storage.head_moves import HeadMove, move_head
from storage.ref_text import ref_conflict
from storage.repositories import DatasetRepository


@dataclass(frozen=True, slots=True)
class Promotions:
    """Promotions within a repository, with the journal in its catalog."""

    repository: DatasetRepository
    journal: Gates

    async def promote(self, heads: Sequence[HeadToMove]) -> None:
        """Move all of them, or none.

        Raises:
            RefConflict: one of them is not where it was believed to be.
            DatasetNotFound, StorageError: one cannot be moved.
        """
        name = await self.journal.begin(heads)
        await self._settle(name, heads)

    async def finish_begun(self) -> None:
        """Bring to an end what was broken off."""
        for name, heads in (await self.journal.begun()).items():
            with suppress(RefConflict):  # then none has moved
                await self._settle(name, heads)

    async def _settle(self, name: str, heads: Sequence[HeadToMove]) -> None:
        try:
            for head in heads:
                await self._forward(head)
        except OdfError:
            for head in heads:
                await self._back(head)
            await self.journal.end(name)
            raise
        for head in heads:
            await unstage(await self._dataset(head.dataset_id), head.new_head)
        await self.journal.end(name)

    async def _forward(self, head: HeadToMove) -> None:
        dataset = await self._dataset(head.dataset_id)
        actual = await dataset.head()
        if actual == head.new_head:
            return
        if actual != head.expected_head:
            raise ref_conflict(HEAD, head.expected_head, actual)
        move = HeadMove(HEAD, head.expected_head, head.new_head)
        await move_head(dataset.writable_objects(), dataset.refs, move)

    async def _back(self, head: HeadToMove) -> None:
        with suppress(RefConflict):  # it never moved, or has moved on since
            refs = (await self._dataset(head.dataset_id)).refs
            await refs.compare_and_swap(HEAD, expected=head.new_head, new=head.expected_head)

    async def _dataset(self, dataset_id: DatasetId) -> Dataset:
        return (await self.repository.find(dataset_id)).dataset


async def forget_staged(dataset: Dataset) -> None:
    """Whatever is staged there."""
    staged = await dataset.head(STAGING)
    if staged is not None:
        await unstage(dataset, staged)


async def unstage(dataset: Dataset, staged: Multihash) -> None:
    """Forget what is staged if it is that, so that it can be collected."""
    with suppress(RefConflict):
        await dataset.refs.compare_and_swap(STAGING, expected=staged, new=None)
