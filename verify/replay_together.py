"""Steps that follow one another, repeated in one job: a job for each costs more than what small steps compute.

Only that a step gives what its block says is learned here. All others are repeated one by one, and that decides.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from opendatafabric.engine_limits import REPLAY_TOGETHER_RECORDS_MAX
from opendatafabric.errors import OdfError
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import ExecuteTransform
from opendatafabric.multihash import Multihash
from pipeline.engine_contract.elsewhere import EnginesElsewhere
from pipeline.epochs.version import is_in_epochs
from pipeline.ingest import Engine, folders_of
from pipeline.transform.made import MadeStep
from pipeline.transform.plan import TransformPlan
from pipeline.transform.run import make_consecutive_steps
from storage.dataset import Dataset
from verify.step_checkpoint import differing_checkpoint
from verify.step_comparison import differing_inputs, differing_output


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A block, and what there was to do for it with those inputs."""

    block: HashedBlock
    event: ExecuteTransform
    plan: TransformPlan
    inputs: list[Dataset]

    @property
    def records(self) -> int:
        """That it reads."""
        return sum(len(each.interval) for each in self.plan.inputs if each.interval is not None)

    def may_be_together(self, elsewhere: EnginesElsewhere) -> bool:
        """Whether its engine may take it with others; what the query is shows only there."""
        transform = self.plan.transform.transform
        is_ours = self.plan.engine == "spark" and elsewhere.place_of(transform) is None and not is_in_epochs(transform)
        return is_ours and len(self.plan.inputs) == 1 and not differing_inputs(self.event, self.plan)

    def is_like(self, other: PlannedStep) -> bool:
        """Whether both have the same transform and schemas."""
        return self._terms() == other._terms()

    def _terms(self) -> tuple[object, ...]:
        (given,), position = self.plan.inputs, self.plan.position
        mine = self.plan.transform, position.schema, position.vocabulary
        return *mine, given.event.dataset_id, given.alias, given.schema, given.vocabulary


class StepsTogether:
    """For one derivative: a query that turns out to need its steps one by one is not tried again."""

    def __init__(self, dataset: Dataset, engine: Engine, elsewhere: EnginesElsewhere, timeout_s: float) -> None:
        self._dataset, self._engine, self._elsewhere, self._timeout_s = dataset, engine, elsewhere, timeout_s
        self._one_by_one = False

    async def valid(self, steps: Sequence[PlannedStep]) -> set[Multihash]:
        """The blocks of those steps that turned out to give what they say."""
        found: set[Multihash] = set()
        for run in runs_of(steps, self._elsewhere):
            if len(run) > 1 and not self._one_by_one:
                found.update(await self._valid_or_none(run))
        return found

    async def _valid_or_none(self, run: Sequence[PlannedStep]) -> list[Multihash]:
        with suppress(OdfError, TimeoutError):
            return await self._valid(run)
        self._one_by_one = True
        return []

    async def _valid(self, run: Sequence[PlannedStep]) -> list[Multihash]:
        async with folders_of(self._engine) as folders, asyncio.timeout(self._timeout_s):
            plans = [(each.plan, each.block.block.system_time) for each in run]
            made = await make_consecutive_steps(plans, run[0].inputs[0], self._engine, folders)
            pairs = zip(run, made, strict=True)
            return [step.block.hash for step, given in pairs if await self._agrees(step, given)]

    async def _agrees(self, step: PlannedStep, made: MadeStep) -> bool:
        if differing_output(step.event, made, ()):
            return False
        return not await differing_checkpoint(self._dataset, step.event, step.plan)


def runs_of(steps: Sequence[PlannedStep], elsewhere: EnginesElsewhere) -> Iterator[list[PlannedStep]]:
    """Neighbours that may be made together, as many as one job takes."""
    run: list[PlannedStep] = []
    records = 0
    for step in steps:
        may_be, records = step.may_be_together(elsewhere), records + step.records
        if run and not (may_be and step.is_like(run[-1]) and records <= REPLAY_TOGETHER_RECORDS_MAX):
            yield run
            run, records = [], step.records
        if may_be:
            run.append(step)
    if run:
        yield run
