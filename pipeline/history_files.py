"""What the engine is given of a dataset's past: the projection that was kept, and the slices that it does not know yet.

Nothing here reads data: files are found, handed out as second names, and what the engine made of them is kept for the
next time, once the new head is set.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from opendatafabric.chain.objects import ObjectKind
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.metadata.events import SetDataSchema
from opendatafabric.metadata.sources import MergeStrategy, MergeStrategyAppend, MergeStrategyChangelogStream
from opendatafabric.multihash import Multihash
from pipeline.commit import Outcome, Position
from pipeline.given_slices import give_slice
from pipeline.ingest_request import HistoryFiles
from pipeline.projection.kept import Kept, KeptProjection
from pipeline.worker_place import JobFolders
from storage.dataset import Dataset

_FORGETS: Final = (MergeStrategyAppend, MergeStrategyChangelogStream)
"""Strategies that compare with nothing that the dataset has."""


@dataclass(frozen=True, slots=True)
class Past:
    """The past of ``dataset`` at ``position``, as ``strategy`` sees it."""

    dataset: Dataset
    position: Position
    strategy: MergeStrategy

    async def give(self, folders: JobFolders) -> HistoryFiles:
        """Files for a job: the runs that are kept, and every slice that they do not stand for."""
        schema = self.position.schema
        if schema is None or isinstance(self.strategy, _FORGETS):
            return HistoryFiles(await _new_folder(folders, "runs"))
        kept = await asyncio.to_thread(self._kept(folders, schema).give, folders.given)
        slices, is_known = await self._slices_since(kept)
        given = [await give_slice(self.dataset, each, folders) for each in slices]
        return HistoryFiles(await _new_folder(folders, "runs"), kept.runs if is_known else (), tuple(given))

    async def give_anew(self, folders: JobFolders) -> HistoryFiles:
        """All slices and no runs, for those that were given are spoiled."""
        slices, _ = await self._slices_since(Kept())
        given = [await give_slice(self.dataset, each, folders) for each in slices]
        return HistoryFiles(await _new_folder(folders, "runs-anew"), (), tuple(given))

    async def keep(self, folders: JobFolders, files: HistoryFiles, outcome: Outcome) -> None:
        """Keep what the engine made of ``files`` for the next ingest; the commit was made, or nothing had to be."""
        schema, runs = outcome.answer.schema or self.position.schema, outcome.answer.runs
        if schema is not None and runs is not None:
            await asyncio.to_thread(self._kept(folders, schema).keep, outcome.new_head, runs, files.made)

    def _kept(self, folders: JobFolders, schema: SetDataSchema) -> KeptProjection:
        vocabulary: DatasetVocabulary = self.position.vocabulary
        return KeptProjection(folders.projections, self.position.seed.dataset_id, self.strategy, vocabulary, schema)

    async def _slices_since(self, kept: Kept) -> tuple[list[Multihash], bool]:
        """The slices after ``kept.head``, the oldest first, and whether that is on the chain; else all of them."""
        if kept.head == self.position.head:
            return [], True
        found: dict[Multihash, None] = {}
        before: bytes | None = None
        async for blocks in self.dataset.walk_additions(self.position.head, stop_before=kept.head):
            objects = [named for _, _, additions in blocks for named in additions.objects[::-1]]
            found |= {each.to_file().physical_hash: None for each in objects if each.kind is ObjectKind.DATA_SLICE}
            before = blocks[-1][2].prev_block_hash
        return [*found][::-1], before is not None


async def _new_folder(folders: JobFolders, name: str) -> Path:
    await asyncio.to_thread((folders.made / name).mkdir)
    return folders.made / name
