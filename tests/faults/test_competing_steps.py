"""Several runs bring the same derivative up to date at the same moment: one wins by the ref, the others say so."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from opendatafabric.errors import RefConflict
from pipeline.commit import Outcome
from pipeline.transform.run import transform
from storage.collect import collect
from tests.faults.chores import DATASET, damage_in, dataset_in
from tests.faults.step_killer import ROWS, find_in, prepare, rows_of, step
from tests.pipeline.datasets import blocks_of, day
from tests.pipeline.local_engine import LocalEngine

pytestmark = pytest.mark.slow
RUNS = 3


class Meeting(LocalEngine):
    """Answers when all runs have computed: none of them has seen what another one did."""

    def __init__(self, root: Path, barrier: asyncio.Barrier) -> None:
        super().__init__(root)
        self._barrier = barrier

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        answer = await super().run(job, arguments)
        await self._barrier.wait()
        return answer


async def competing(root: Path, *, at_other_times: bool) -> list[Outcome | BaseException | None]:
    """What came of runs that have all computed before any of them commits."""
    barrier = asyncio.Barrier(RUNS)
    return await asyncio.gather(
        *(
            transform(
                dataset_in(root / DATASET),
                lambda each: find_in(root, each),
                Meeting(root / f"engine-{number}", barrier),
                system_time=day(6 + number * at_other_times),
            )
            for number in range(RUNS)
        ),
        return_exceptions=True,
    )


@pytest.mark.parametrize("at_other_times", [False, True], ids=["the same block", "other blocks"])
async def test_one_wins_and_the_others_say_so(tmp_path: Path, at_other_times: bool) -> None:
    await prepare(tmp_path)
    dataset = dataset_in(tmp_path / DATASET)
    before = await blocks_of(dataset)
    outcomes = await competing(tmp_path, at_other_times=at_other_times)
    won = [each for each in outcomes if isinstance(each, Outcome)]
    lost = [each for each in outcomes if isinstance(each, RefConflict)]
    assert (len(won), len(lost)) == (1, RUNS - 1)
    assert await dataset.head() == won[0].new_head
    assert len(await blocks_of(dataset)) == len(before) + 1
    assert await rows_of(dataset) == ROWS
    assert "head" in lost[0].message


async def test_what_the_losers_left_is_garbage_and_the_next_run_has_nothing_to_do(tmp_path: Path) -> None:
    await prepare(tmp_path)
    await competing(tmp_path, at_other_times=True)
    dataset = dataset_in(tmp_path / DATASET)
    now = await blocks_of(dataset)
    assert await damage_in(dataset) == []
    assert (await collect(dataset, grace_s=-1)).refused is None
    await step(tmp_path, on=9)
    assert (await blocks_of(dataset), await rows_of(dataset)) == (now, ROWS)
