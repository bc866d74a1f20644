"""What our version of an engine does not give is asked of its other versions before it is called a mismatch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from opendatafabric.errors import InvalidQuery
from pipeline.engine_contract.elsewhere import EngineAddress, EnginesElsewhere
from tests.pipeline.local_engine import LocalEngine
from tests.pipeline.transform.derived import Workshop
from tests.verify.forge import with_value
from tests.verify.replaying import Dying, NeverEnding, falsify, large_cities, verified, workshop_in
from verify.replayed import StepVerdict
from verify.report import Report, Severity, Verdict

pytestmark = pytest.mark.slow

VALID, MISMATCH = StepVerdict.VALID, StepVerdict.MISMATCH


class Differing(LocalEngine):
    """A version that sees other records, and counts its jobs."""

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return await super().run(job, {**arguments, "transform": arguments["transform"].replace("> 10", "> 25")})


class Refusing(LocalEngine):
    """A version that takes no query."""

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self.jobs_done += 1
        raise InvalidQuery("the query is not in the list")


@pytest.fixture
async def large(tmp_path: Path) -> Workshop:
    """Large cities in two steps."""
    return await large_cities(workshop_in(tmp_path))


def verdicts(report: Report) -> list[StepVerdict]:
    """Of the steps."""
    return [step.verdict for step in report.steps or ()]


async def test_the_version_that_agrees_is_named(large: Workshop, tmp_path: Path) -> None:
    others = {"datafusion": {"DataFusion 51": Refusing(tmp_path / "51"), "DataFusion 50": LocalEngine(tmp_path / "50")}}
    report = await verified(large, engine=Differing(tmp_path / "ours"), other_versions=others)
    assert (verdicts(report), report.verdict) == ([VALID, VALID], Verdict.VALID)
    assert [step.agreed for step in report.steps or ()] == ["DataFusion 50"] * 2
    assert {(each.code, each.severity) for each in report.findings} == {("replay-other-version", Severity.WARNING)}
    assert report.findings[0].message.startswith("DataFusion 50 gives what the block says")


async def test_what_our_version_refuses_is_asked_of_the_others(large: Workshop, tmp_path: Path) -> None:
    others = {"datafusion": {"DataFusion 50": LocalEngine(tmp_path / "50")}}
    report = await verified(large, engine=Refusing(tmp_path / "ours"), other_versions=others)
    assert verdicts(report) == [VALID, VALID]


async def test_what_no_version_gives_is_told_as_ours_has_it(large: Workshop, tmp_path: Path) -> None:
    await falsify(large, with_value("population", 1, 21), step=0)
    other = Differing(tmp_path / "other")
    report = await verified(large, other_versions={"datafusion": {"another": other}})
    assert verdicts(report) == [MISMATCH, VALID]
    assert report.findings[-1].message == "records differ at offset 1 in column 'population'"
    assert other.jobs_done == 1


async def test_what_all_versions_refuse_is_told_in_the_words_of_ours(large: Workshop, tmp_path: Path) -> None:
    others = {"datafusion": {"another": Refusing(tmp_path / "other")}}
    report = await verified(large, engine=Refusing(tmp_path / "ours"), other_versions=others)
    assert set(verdicts(report)) == {StepVerdict.ENGINE_ERROR}
    assert report.findings[0].message == "the query is not in the list"


async def test_versions_that_fail_say_nothing(large: Workshop, tmp_path: Path) -> None:
    others = {"datafusion": {"dying": Dying(tmp_path / "dying"), "never": NeverEnding(tmp_path / "never")}}
    ours = Differing(tmp_path / "ours")
    report = await verified(large, engine=ours, other_versions=others, timeout_s=2)
    assert set(verdicts(report)) == {MISMATCH}


async def test_what_agrees_is_asked_of_no_other(large: Workshop, tmp_path: Path) -> None:
    other = LocalEngine(tmp_path / "other")
    report = await verified(large, other_versions={"datafusion": {"another": other}, "spark": {"Spark 3.5": other}})
    assert (verdicts(report), report.findings, other.jobs_done) == ([VALID, VALID], [], 0)


async def test_engines_elsewhere_have_no_versions_here(large: Workshop, tmp_path: Path) -> None:
    other = LocalEngine(tmp_path / "other")
    report = await verified(
        large,
        elsewhere=EnginesElsewhere({"datafusion": EngineAddress("127.0.0.1:1")}),
        other_versions={"datafusion": {"another": other}},
    )
    assert (set(verdicts(report)), other.jobs_done) == ({StepVerdict.UNSUPPORTED_ENGINE}, 0)
