"""Repeating the transform of a derivative: does every step follow from what it says it read?

Each ExecuteTransform is computed once more: by the query, schema and vocabulary that were in force there, over the
blocks and offsets of the inputs that it names, as of its system time. What comes out must be what it says (spec:
Derivative Transformations, Verifiability): records, offsets, watermark. Nothing is appended anywhere, and nothing stops
at the first step that differs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from opendatafabric.did import DatasetId
from opendatafabric.engine_limits import REPLAY_TOGETHER_STEPS_MAX
from opendatafabric.errors import (
    ChainsDiverged,
    EngineDied,
    EngineFailed,
    EngineUnavailable,
    HashMismatch,
    IncompatibleSchema,
    InvalidQuery,
    MalformedBlock,
    NotFound,
    OdfError,
    PeerUnavailable,
    StorageError,
    UnsupportedOperation,
    UnsupportedVersion,
)
from opendatafabric.limits import REPLAY_STEP_S_MAX
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import ExecuteTransform
from opendatafabric.metadata.slices import DataSlice
from opendatafabric.metadata.transform import Transform
from opendatafabric.multihash import Multihash
from pipeline.commit import position_at
from pipeline.engine_contract.elsewhere import NONE_ELSEWHERE, EnginesElsewhere
from pipeline.epochs.version import is_in_epochs
from pipeline.given_slices import give_slice
from pipeline.ingest import Engine, folders_of
from pipeline.transform.input_chains import FindInput, planned_step
from pipeline.transform.made import MadeStep
from pipeline.transform.plan import TransformPlan
from pipeline.transform.request import ENGINES
from pipeline.transform.run import make_step
from pipeline.worker_place import JobFolders
from storage.dataset import Dataset
from verify.replay_inputs import ReplayInputs
from verify.replay_together import PlannedStep, StepsTogether
from verify.replayed import ReplayedStep, RowDifference, StepDifference, StepVerdict
from verify.report import Verdict
from verify.row_differences import row_differences
from verify.step_checkpoint import differing_checkpoint, differing_memory
from verify.step_comparison import differing_inputs, differing_output, same_records

_VERDICTS: Final[tuple[tuple[type[OdfError], StepVerdict], ...]] = (
    (UnsupportedOperation, StepVerdict.UNSUPPORTED_ENGINE),
    (UnsupportedVersion, StepVerdict.UNSUPPORTED_ENGINE),
    (EngineDied, StepVerdict.ENGINE_ERROR),
    (EngineFailed, StepVerdict.ENGINE_ERROR),
    (EngineUnavailable, StepVerdict.UNSUPPORTED_ENGINE),
    (IncompatibleSchema, StepVerdict.MISMATCH),
    (HashMismatch, StepVerdict.INPUT_INVALID),
    (ChainsDiverged, StepVerdict.INPUT_INVALID),
    (MalformedBlock, StepVerdict.INPUT_INVALID),
    (NotFound, StepVerdict.INPUT_MISSING),
    (StorageError, StepVerdict.INPUT_MISSING),
    (PeerUnavailable, StepVerdict.INPUT_MISSING),
    (OdfError, StepVerdict.ENGINE_ERROR),
)
"""What a failure says of a step, the first that fits."""


OtherVersions = Mapping[str, Mapping[str, Engine]]
"""By the name of an engine: its other versions by what reports call them."""


@dataclass(frozen=True, slots=True)
class Replay:
    """How steps are repeated: where inputs are, which engine computes, how long one step may take.

    ``verdicts`` are those of datasets that were verified before: what was made of an invalid one is invalid too.
    Engines that are ``elsewhere`` are asked instead of ours. What one of ours does not give is asked of its
    ``other_versions`` before it is called a mismatch.
    """

    find: FindInput
    engine: Engine
    timeout_s: float = REPLAY_STEP_S_MAX
    verdicts: Mapping[DatasetId, Verdict] = field(default_factory=dict)
    elsewhere: EnginesElsewhere = NONE_ELSEWHERE
    other_versions: OtherVersions = field(default_factory=dict)

    def others_for(self, transform: Transform) -> Mapping[str, Engine]:
        """Those that may have made a step by that transform."""
        is_ours = self.elsewhere.place_of(transform) is None and not is_in_epochs(transform)
        return self.other_versions.get(transform.engine.lower(), {}) if is_ours else {}

    async def steps(self, dataset: Dataset, hashes: list[Multihash]) -> AsyncIterator[ReplayedStep]:
        """The steps among those blocks of a sound chain, the oldest first, each made again.

        Raises:
            NotFound, HashMismatch, StorageError: the chain of the derivative itself cannot be read.
        """
        inputs = ReplayInputs(self.find, self.verdicts)
        together = StepsTogether(dataset, self.engine, self.elsewhere, self.timeout_s)
        for begin in range(0, len(hashes), REPLAY_TOGETHER_STEPS_MAX):
            some = dataset.read_blocks(hashes[begin : begin + REPLAY_TOGETHER_STEPS_MAX])
            blocks = [block async for batch in some for block in batch]
            events = [(block, block.event) for block in blocks if isinstance(block.event, ExecuteTransform)]
            steps = [_Step(dataset, block, event, inputs) for block, event in events]
            plans = [await step.planned_or_none() for step in steps]
            valid = await together.valid([each for each in plans if each is not None])
            for step, planned in zip(steps, plans, strict=True):
                yield step.valid() if step.block.hash in valid else await self._judged(step, planned)

    async def _judged(self, step: _Step, planned: PlannedStep | None) -> ReplayedStep:
        untrusted = step.inputs.not_trusted(step.event)
        if untrusted is not None:
            return step.ended(*untrusted)
        try:
            return await step.repeated(self, planned)
        except TimeoutError:
            late = StepDifference(f"the step took more than {self.timeout_s:g} seconds", hint="give it more time")
            return step.ended(StepVerdict.TIMED_OUT, late)
        except OdfError as error:
            verdict = next(verdict for family, verdict in _VERDICTS if isinstance(error, family))
            return step.ended(verdict, StepDifference(error.message, error.expected, error.found, error.hint))


@dataclass(frozen=True, slots=True)
class _Step:
    dataset: Dataset
    block: HashedBlock
    event: ExecuteTransform
    inputs: ReplayInputs

    async def planned(self) -> PlannedStep:
        """What there was to do after the block before it; errors are those of what it needs."""
        before = self.block.block.prev_block_hash
        assert before is not None  # a rule of the chain
        position = await position_at(self.dataset, before)
        pins = await self.inputs.pinned(self.event)
        return PlannedStep(self.block, self.event, *await planned_step(position, self.inputs.find, as_of=pins))

    async def planned_or_none(self) -> PlannedStep | None:
        """Without those of which nothing can be said; what is wrong with them is told when they are repeated."""
        if self.inputs.not_trusted(self.event) is not None:
            return None
        with suppress(OdfError):
            return await self.planned()
        return None

    async def repeated(self, replay: Replay, known: PlannedStep | None) -> ReplayedStep:
        """The step made again and compared; errors are those of what it needs."""
        planned = known or await self.planned()
        plan, inputs = planned.plan, planned.inputs
        _check_engine(plan, replay.elsewhere)
        differing = differing_inputs(self.event, plan)
        if differing:
            return self.ended(StepVerdict.MISMATCH, *differing)
        try:
            judged = await self._made_again(plan, inputs, replay)
        except (InvalidQuery, IncompatibleSchema):
            agreed = await self._by_another_version(plan, inputs, replay)
            if agreed is None:
                raise
            return agreed
        if judged.verdict is StepVerdict.VALID:
            return judged
        return await self._by_another_version(plan, inputs, replay) or judged

    async def _by_another_version(
        self, plan: TransformPlan, inputs: list[Dataset], replay: Replay
    ) -> ReplayedStep | None:
        """The first that gives what the block says. Those that fail say nothing."""
        for name, engine in replay.others_for(plan.transform.transform).items():
            with suppress(OdfError, TimeoutError):
                judged = await self._made_again(plan, inputs, replace(replay, engine=engine))
                if judged.verdict is StepVerdict.VALID:
                    return replace(judged, agreed=name)
        return None

    async def _made_again(self, plan: TransformPlan, inputs: list[Dataset], replay: Replay) -> ReplayedStep:
        async with folders_of(replay.engine) as folders, asyncio.timeout(replay.timeout_s):
            made = await make_step(
                plan,
                inputs,
                self.dataset,
                replay.engine,
                folders,
                system_time=self.block.block.system_time,
                elsewhere=replay.elsewhere,
            )
            rows = await self._differing_rows(made, folders)
            memory = await differing_memory(self.dataset, self.event, plan, made, folders)
        differences = differing_output(self.event, made, rows) + memory
        differences += await differing_checkpoint(self.dataset, self.event, plan)
        verdict = StepVerdict.MISMATCH if differences else StepVerdict.VALID
        return self.ended(verdict, *differences, rows=rows, records_found=_count(made.answer.data))

    async def _differing_rows(self, made: MadeStep, folders: JobFolders) -> tuple[RowDifference, ...]:
        recorded, data = self.event.new_data, made.answer.data
        if recorded is None or data is None or same_records(recorded, data):
            return ()
        theirs = await give_slice(self.dataset, recorded.physical_hash, folders)
        first = recorded.offset_interval.start
        return await asyncio.to_thread(row_differences, theirs, made.made, first_offset=first)

    def valid(self) -> ReplayedStep:
        """It gave what its block says."""
        return self.ended(StepVerdict.VALID, records_found=_count(self.event.new_data))

    def ended(
        self,
        verdict: StepVerdict,
        *differences: StepDifference,
        rows: tuple[RowDifference, ...] = (),
        records_found: int | None = None,
    ) -> ReplayedStep:
        """With that verdict."""
        number, expected = self.block.sequence_number, _count(self.event.new_data)
        return ReplayedStep(number, self.block.hash, verdict, differences, rows, expected, records_found)


def _check_engine(plan: TransformPlan, elsewhere: EnginesElsewhere) -> None:
    transform = plan.transform.transform
    if transform.engine.lower() not in ENGINES and elsewhere.place_of(transform) is None:
        raise UnsupportedOperation(
            f"there is no engine '{transform.engine}' here",
            expected=" or ".join(ENGINES),
            hint="if it runs somewhere, ODF_ENGINES says where",
        )


def _count(data: DataSlice | None) -> int:
    return 0 if data is None else len(data.offset_interval)
