"""A verification makes a record of itself: with what it was computed, what is known of the inputs, where it is kept."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from catalog.catalog import open_catalog
from catalog.sqlite_files import sqlite_url
from opendatafabric.errors import EngineDied, UnsupportedOperation
from storage.memory import MemoryObjectStore
from tests.pipeline.local_engine import LocalEngine
from tests.pipeline.transform.derived import Workshop, id_of
from tests.verify.replaying import large_cities, workshop_in
from verify.recording import Recorder
from verify.replay import Replay
from verify.report import Verdict
from verify.report_room import ReportRoom

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
TOLD = {"engine": "pyspark 4.1.0", "java": "17", "arrow": "26", "settings": "f1620" + "0" * 64, "sandboxed": True}


class Telling(LocalEngine):
    """Says what it computes with."""

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return TOLD if job == "describe" else await super().run(job, arguments)


class Gone(LocalEngine):
    """Computes, and is not there when it is asked what it was."""

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if job == "describe":
            raise EngineDied("the worker ended")
        return await super().run(job, arguments)


@pytest.fixture
async def large(tmp_path: Path) -> Workshop:
    return await large_cities(workshop_in(tmp_path))


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[ReportRoom]:
    async with open_catalog(sqlite_url(tmp_path / "catalog.sqlite")) as catalog:
        yield ReportRoom(catalog.reports, keep_last=2)


def replay_of(workshop: Workshop, **options: Any) -> Replay:
    return Replay(**{"find": workshop.find, "engine": workshop.engine, **options})


async def test_a_record_says_what_was_asked_for_and_when(large: Workshop) -> None:
    times = iter([NOON, NOON + timedelta(seconds=3)])
    recorded = await Recorder(None, None, lambda: next(times)).verified(large.datasets["large"], "alice/large")
    record = recorded.record
    assert (record.alias, record.verdict, record.scope.replay) == ("alice/large", Verdict.VALID, False)
    assert (record.timings.started_at, record.timings.ended_at) == (
        "2026-01-02T12:00:00.000Z",
        "2026-01-02T12:00:03.000Z",
    )
    assert record.timings.replay_ms is None
    assert (recorded.hash, recorded.not_kept) == (None, None)


async def test_the_blocks_that_were_read_of_the_inputs_are_told_without_repeating_steps(large: Workshop) -> None:
    record = (await Recorder(None, None).verified(large.datasets["large"], None)).record
    (given,) = record.inputs
    assert (given.dataset_id, given.block_hash) == (str(id_of("cities")), str(await large.datasets["cities"].head()))


async def test_repeated_steps_are_timed_and_listed(large: Workshop) -> None:
    record = (await Recorder(replay_of(large), None).verified(large.datasets["large"], None)).record
    assert record.timings.replay_ms is not None
    assert [block.verdict for block in record.blocks] == [Verdict.VALID, Verdict.VALID]


async def test_a_verdict_of_this_run_counts_more_than_an_older_report(large: Workshop, room: ReportRoom) -> None:
    cities, id_ = large.datasets["cities"], id_of("cities")
    before = await Recorder(None, room).verified(cities, "cities")
    verdicts: Mapping[Any, Verdict]
    for verdicts, expected in (
        ({}, (Verdict.VALID, str(before.hash))),
        ({id_: Verdict.VALID}, (Verdict.VALID, str(before.hash))),
        ({id_: Verdict.ERROR}, (Verdict.ERROR, None)),
    ):
        recorder = Recorder(replay_of(large, verdicts=verdicts), room)
        (given,) = (await recorder.verified(large.datasets["large"], None)).record.inputs
        assert (given.verdict, given.report) == expected


async def test_a_report_that_cannot_be_kept_is_told_and_is_no_failure(large: Workshop, room: ReportRoom) -> None:
    cities = large.datasets["cities"]
    assert isinstance(cities.objects, MemoryObjectStore)
    cities.objects.capabilities = replace(cities.objects.capabilities, writable=False)
    recorded = await Recorder(None, room).verified(cities, "cities")
    assert recorded.report.verdict is Verdict.VALID
    assert (recorded.hash, type(recorded.not_kept)) == (None, UnsupportedOperation)


async def test_spark_is_asked_what_it_is_when_it_computed_something(
    large: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(replay_of(large, engine=Telling(tmp_path / "telling")), None)
    assert (await recorder.verified(large.datasets["large"], None)).record.environment.engine is None
    monkeypatch.setattr("verify.recording.SPARK", "datafusion")
    engine = (await recorder.verified(large.datasets["large"], None)).record.environment.engine
    assert engine is not None
    assert engine.engine == "pyspark 4.1.0"


async def test_an_engine_that_has_gone_since_says_nothing(
    large: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("verify.recording.SPARK", "datafusion")
    recorder = Recorder(replay_of(large, engine=Gone(tmp_path / "gone")), None)
    recorded = await recorder.verified(large.datasets["large"], None)
    assert (recorded.report.verdict, recorded.record.environment.engine) == (Verdict.VALID, None)
