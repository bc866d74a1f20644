"""Processes that wait for queries."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from opendatafabric.errors import InvalidQuery, LimitExceeded
from pipeline.process_group import resident_bytes
from pipeline.query.answer_form import AnswerForm, FileKind, JsonShape
from pipeline.query.request import QueryLimits, QueryRequest, RecordsWanted
from pipeline.query.waiting import QueryProcesses, size_of
from tests.pipeline.query.catalogue import prepared

pytestmark = pytest.mark.slow
ENDLESS = "SELECT sum(a.value * b.value) FROM generate_series(1, 100000000) a, generate_series(1, 100000) b"
CSV = AnswerForm(FileKind.CSV)


async def answer(processes: QueryProcesses, sql: str, form: AnswerForm = CSV, **limits: Any) -> bytes:
    async with processes.answered(QueryRequest(sql, (), QueryLimits(**limits), form)) as sink:
        found = sink.read()
        assert len(found) == size_of(sink)
    return found


async def test_a_process_that_waits_answers_one_query_and_another_takes_its_place(tmp_path: Path) -> None:
    processes = QueryProcesses(tmp_path, count=1)
    try:
        assert await answer(processes, "SELECT 1 AS n") == b"n\n1\n"
        (waiting,) = processes._waiting
        assert await answer(processes, "SELECT 2 AS n") == b"n\n2\n"
        assert not waiting.process.alive
        assert len(processes._waiting) == 1
    finally:
        processes.close()
    assert os.listdir(tmp_path) == []


async def test_a_process_that_died_waiting_is_passed_over(tmp_path: Path) -> None:
    processes = QueryProcesses(tmp_path, count=1)
    try:
        await answer(processes, "SELECT 1")
        processes._waiting[0].process.kill()
        processes._waiting[0].process._process.wait()
        assert await answer(processes, "SELECT 2 AS n") == b"n\n2\n"
    finally:
        processes.close()


async def test_another_is_copied_when_that_one_died(tmp_path: Path) -> None:
    processes = QueryProcesses(tmp_path, count=1)
    try:
        await answer(processes, "SELECT 1")
        assert processes._copies is not None
        os.kill(processes._copies.pid, signal.SIGKILL)
        processes._copies._process.wait()
        assert await answer(processes, "SELECT 2 AS n") == b"n\n2\n"
    finally:
        processes.close()


async def test_two_at_once_are_answered_though_one_waits(tmp_path: Path) -> None:
    processes = QueryProcesses(tmp_path, count=1)
    try:
        found = await asyncio.gather(*(answer(processes, f"SELECT {number} AS n") for number in range(4)))
        assert found == [f"n\n{number}\n".encode() for number in range(4)]
        assert len(processes._waiting) == 1
    finally:
        processes.close()


async def test_who_goes_away_ends_the_query(tmp_path: Path) -> None:
    processes = QueryProcesses(tmp_path, count=1)
    try:
        await answer(processes, "SELECT 1")
        running = processes._waiting[0].process
        asked = asyncio.create_task(answer(processes, ENDLESS))
        await asyncio.to_thread(running.asked.wait)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        assert not running.alive
        assert resident_bytes(running.pid) == 0
    finally:
        processes.close()


async def test_errors_come_out_as_they_are(tmp_path: Path) -> None:
    processes = QueryProcesses(tmp_path, count=0)
    with pytest.raises(InvalidQuery, match="no SQL"):
        await answer(processes, "selec 1")


@pytest.mark.parametrize(
    "form", [CSV, AnswerForm(JsonShape.AOS), AnswerForm(FileKind.ARROW), AnswerForm(FileKind.PARQUET)]
)
async def test_an_answer_that_gets_too_long_is_refused(tmp_path: Path, form: AnswerForm) -> None:
    processes = QueryProcesses(tmp_path, count=0)
    sql = "SELECT value, random() AS r FROM generate_series(1, 1000000)"
    with pytest.raises(LimitExceeded, match="the answer is too long"):
        await answer(processes, sql, form, result_bytes=100_000)


@pytest.mark.parametrize(("first", "last", "lines"), [(0, 5, 6), (4, 9, 2), (2, 2, 1), (6, 9, 0)])
async def test_records_are_given_by_their_offsets(tmp_path: Path, first: int, last: int, lines: int) -> None:
    whole = await prepared("SELECT * FROM cities", tmp_path, foreign=True)
    request = QueryRequest("", whole.tables, whole.limits, CSV, wanted=RecordsWanted(first, last, ("offset", "city")))
    (tmp_path / "answers").mkdir()
    async with QueryProcesses(tmp_path / "answers", count=0).answered(request) as sink:
        found = sink.read().decode().splitlines()
    assert found[0] == "offset,city"
    assert len(found) == 1 + lines
