"""The newest records of a dataset, and what its chain says last, found by the index of facts: no chain is walked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from catalog.dataset_facts import DatasetFacts
from catalog.facts_of_blocks import FORM, Facts
from opendatafabric.did import DatasetId
from opendatafabric.metadata.events import (
    Seed,
    SetAttachments,
    SetDataSchema,
    SetInfo,
    SetLicense,
    SetVocab,
    UnknownEvent,
)
from opendatafabric.metadata.slices import DataSlice
from opendatafabric.multihash import Multihash
from pipeline.query.request import RecordsWanted
from storage.dataset import Dataset
from storage.records.moment import KnownRecords, records_said_by

FactsOf = Callable[[DatasetId, Dataset], Awaitable[Facts | None]]
_BLOCKS_MAX: Final = 1_000
"""Records of more blocks are looked for along the chain, which is remembered."""

_SAID: Final = (SetAttachments, SetDataSchema, SetInfo, SetLicense, SetVocab)


class IndexedRecords:
    """Looks into ``index``; ``facts_of`` brings it up to date before."""

    def __init__(self, index: DatasetFacts, facts_of: FactsOf) -> None:
        self._index, self._facts_of = index, facts_of

    async def newest(
        self, dataset_id: DatasetId, dataset: Dataset, *, skip: int, limit: int
    ) -> tuple[KnownRecords, RecordsWanted] | None:
        """The slices that hold the newest ``limit`` records but ``skip``; ``None`` where the index does not say.

        Raises:
            BlockNotFound, HashMismatch, MalformedBlock: a block is damaged.
        """
        facts = await self._facts(dataset_id, dataset)
        if facts is None:
            return None
        wanted = newest_wanted(facts.records, skip, limit)
        slices = await self._slices(dataset_id, dataset, wanted)
        if slices is None:
            return None
        return records_said_by(await _said(dataset, facts), slices, facts.head), wanted

    async def said(self, dataset_id: DatasetId, dataset: Dataset) -> KnownRecords | None:
        """What the chain says last, without slices; errors and ``None`` as in ``newest``."""
        facts = await self._facts(dataset_id, dataset)
        if facts is None:
            return None
        seed = await self._index.block(dataset_id, 0)
        said = await _said(dataset, facts, {} if seed is None else {Seed: str(seed.hash)})
        return records_said_by(said, (), facts.head)

    async def _facts(self, dataset_id: DatasetId, dataset: Dataset) -> Facts | None:
        """Those of the head that stands, if the index understands all of its chain."""
        facts = await self._facts_of(dataset_id, dataset)
        if facts is None or facts.form != FORM or UnknownEvent.__name__ in facts.events:
            return None
        return facts if facts.head == await dataset.head() else None

    async def _slices(self, dataset_id: DatasetId, dataset: Dataset, wanted: RecordsWanted) -> list[DataSlice] | None:
        if wanted.last < wanted.first:
            return []
        blocks = await self._index.blocks_of_records(dataset_id, wanted.first, wanted.last, count=_BLOCKS_MAX)
        if not blocks:
            return None
        slices: list[DataSlice] = []
        async for batch in dataset.read_blocks([each.hash for each in blocks]):
            added = [getattr(each.event, "new_data", None) for each in batch]
            slices += [each for each in added if each is not None]
        return slices if _hold(slices, wanted) else None


def newest_wanted(count: int, skip: int, limit: int) -> RecordsWanted:
    """Which of so many records are the newest ``limit`` but ``skip``."""
    return RecordsWanted(max(0, count - skip - limit), count - skip - 1)


def _hold(slices: Sequence[DataSlice], wanted: RecordsWanted) -> bool:
    if not slices:
        return False
    first, last = slices[0].offset_interval, slices[-1].offset_interval
    return first.start <= wanted.first <= first.end and last.start <= wanted.last <= last.end


async def _said(dataset: Dataset, facts: Facts, others: Mapping[type, str] | None = None) -> dict[type, Any]:
    """The last event of each kind of which the index knows the block, and of ``others``."""
    hashes = {kind: facts.events[kind.__name__] for kind in _SAID if kind.__name__ in facts.events} | dict(others or {})
    return {kind: (await dataset.read_block(Multihash.from_text(text))).event for kind, text in hashes.items()}
