"""Derivatives that the reference made are valid by replay."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipeline.local_engine import LocalEngine
from tests.pipeline.transform.recorded import derivatives, inputs_beside
from verify.replay import Replay
from verify.replayed import StepVerdict
from verify.report import Verdict
from verify.verification import verify_dataset


@pytest.mark.parametrize("derivative", derivatives("datasets"), ids=lambda path: path.name)
async def test_every_step_of_datafusion_is_valid(derivative: Path, tmp_path: Path) -> None:
    dataset, find = await inputs_beside(derivative)
    report = await verify_dataset(dataset, Replay(find, LocalEngine(tmp_path / "engine")))
    assert (report.verdict, report.findings) == (Verdict.VALID, [])
    assert {step.verdict for step in report.steps or ()} == {StepVerdict.VALID}
