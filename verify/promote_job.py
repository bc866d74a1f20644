"""What was pushed to a dataset with a gate: verified where it is staged, then made the head, or turned away."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from catalog.gates import Gate, Gates, HeadToMove
from opendatafabric.block_ref import STAGING
from opendatafabric.did import DatasetId
from opendatafabric.errors import RefConflict, RefNotFound
from opendatafabric.multihash import Multihash
from pipeline.transform.input_chains import FindInput
from storage.dataset import Dataset
from storage.held_chain import is_on_chain
from storage.progress import Progress, silent
from storage.repositories import DatasetRepository
from storage.repository import DatasetEntry
from storage.wrappers.staged import FixedHead
from verify.promotion import Promotions, unstage
from verify.recording import Recorded, Recorder
from verify.replay import Replay
from verify.report import Verdict
from verify.report_room import ReportRoom
from verify.verify_job import outcome_of


class GateResult(StrEnum):
    """What came of what was staged."""

    PROMOTED = "promoted"
    REJECTED = "rejected"
    """It is damaged, or does not continue the head. It is staged no longer."""
    HELD = "held"
    """Not everything could be checked. It stays staged, and may be asked for again."""
    NOTHING = "nothing-staged"


@dataclass(frozen=True, slots=True)
class Staged:
    """A dataset with something on the ref ``staging``, verified; ``to_move`` is what promoting means."""

    entry: DatasetEntry
    to_move: HeadToMove
    recorded: Recorded
    continues: bool

    @property
    def result(self) -> GateResult:
        """What the gate says of it, were it alone."""
        if not self.continues or self.recorded.report.verdict is Verdict.INVALID:
            return GateResult.REJECTED
        return GateResult.PROMOTED if self.recorded.report.verdict is Verdict.VALID else GateResult.HELD


@dataclass(frozen=True, slots=True)
class PromoteJob:
    """Gates of a repository. ``replay_of`` gives what repeats the steps of a dataset, with the rights of its owner."""

    repository: DatasetRepository
    gates: Gates
    room: ReportRoom
    replay_of: Callable[[DatasetId], Replay]

    async def run(self, dataset_id: DatasetId, *, progress: Progress = silent) -> dict[str, Any]:
        """What came of it, as plain values. That it is turned away is no failure of the job.

        Raises:
            DatasetNotFound: it is not here.
            StorageError: it could not be moved.
        """
        staged = await self.examined(dataset_id, await self.gates.find(dataset_id), progress=progress)
        if staged is None:
            return {"result": GateResult.NOTHING.value}
        result = staged.result
        if result is GateResult.PROMOTED:
            result = await self._promoted(staged)
        if result is GateResult.REJECTED:
            await unstage(staged.entry.dataset, staged.to_move.new_head)
        told = {"result": result.value, **outcome_of(staged.recorded)}
        if not staged.continues or staged.result is not result:
            told["finding"] = "what was pushed does not continue the head: somebody else has moved it"
        return told

    async def together(self, dataset_ids: Sequence[DatasetId]) -> list[tuple[DatasetEntry, dict[str, Any]]]:
        """Promote what is staged in all of them, or nothing; each is verified with what is staged in the others.

        Raises:
            RefConflict: one of the heads was moved by somebody else meanwhile.
            DatasetNotFound, StorageError: as ``run``.
        """
        views = await self._views(dataset_ids)
        found = [await self.examined(each, Gate(replay=True), views=views) for each in dataset_ids]
        staged = [each for each in found if each is not None]
        if len(staged) < len(dataset_ids):
            raise RefNotFound("something is staged in not all of these datasets", hint="odf gate REF shows what is")
        if all(each.result is GateResult.PROMOTED for each in staged):
            await Promotions(self.repository, self.gates).promote([each.to_move for each in staged])
            for each in staged:
                await self.keep(each)
        return [(each.entry, {"result": each.result.value, **outcome_of(each.recorded)}) for each in staged]

    async def examined(
        self,
        dataset_id: DatasetId,
        gate: Gate | None,
        *,
        views: Mapping[DatasetId, Dataset] = MappingProxyType({}),
        progress: Progress = silent,
    ) -> Staged | None:
        """What is staged, verified as if it were the head; ``None`` if nothing is. ``views`` go before other inputs."""
        entry = await self.repository.find(dataset_id)
        staged, head = await entry.dataset.head(STAGING), await entry.dataset.head()
        if staged is None:
            return None
        replay = self.replay_of(dataset_id) if gate is not None and gate.replay else None
        if replay is not None:
            replay = replace(replay, find=_first_in(views, replay.find))
        view = _with_head(entry, staged)
        recorded = await Recorder(replay, None).verified(view, str(entry.alias), progress=progress)
        is_valid = recorded.report.verdict is Verdict.VALID
        continues = not is_valid or head is None or await is_on_chain(view.objects, head, staged)
        return Staged(entry, HeadToMove(dataset_id, head, staged), recorded, continues)

    async def _views(self, dataset_ids: Sequence[DatasetId]) -> dict[DatasetId, Dataset]:
        entries = [await self.repository.find(each) for each in dataset_ids]
        staged = [(entry, await entry.dataset.head(STAGING)) for entry in entries]
        return {entry.id: _with_head(entry, head) for entry, head in staged if head is not None}

    async def keep(self, staged: Staged) -> None:
        """Keep the report on what has become the head, signed."""
        record = staged.recorded.record
        if await self.room.keep(staged.entry.dataset.writable_objects(), record) is not None:
            await self.room.sign(record)

    async def _promoted(self, staged: Staged) -> GateResult:
        try:
            await Promotions(self.repository, self.gates).promote([staged.to_move])
        except RefConflict:
            return GateResult.REJECTED
        await self.keep(staged)
        return GateResult.PROMOTED


def _with_head(entry: DatasetEntry, head: Multihash) -> Dataset:
    return entry.dataset.over(entry.dataset.objects, FixedHead(head))


def _first_in(views: Mapping[DatasetId, Dataset], find: FindInput) -> FindInput:
    async def found(dataset_id: DatasetId) -> Dataset:
        return views[dataset_id] if dataset_id in views else await find(dataset_id)

    return found
