"""Derivatives that the reference made are valid by replay."""

from __future__ import annotations

import sys
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


async def test_without_the_package_the_engine_datafusion_is_unsupported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "datafusion", None)
    (derivative,) = [path for path in derivatives("datasets") if path.name == "seattle-weather.fahrenheit"]
    dataset, find = await inputs_beside(derivative)
    report = await verify_dataset(dataset, Replay(find, LocalEngine(tmp_path / "engine")))
    assert {step.verdict for step in report.steps or ()} == {StepVerdict.UNSUPPORTED_ENGINE}
    assert report.verdict is Verdict.ERROR
    assert {finding.message for finding in report.findings} == {"the package datafusion is not installed"}
    assert {finding.code for finding in report.findings} == {"replay-unsupported-engine"}
