"""Processes of queries, started anew or copied."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from opendatafabric.errors import EngineDied
from pipeline.process_group import resident_bytes
from pipeline.query.answer_form import AnswerForm, FileKind, JsonShape, SchemaFormat
from pipeline.query.child import environment
from pipeline.query.process import QueryProcess
from pipeline.query.request import QueryLimits, QueryRequest
from pipeline.query.starting import Copies
from pipeline.sandbox import landlock_version
from tests.pipeline.query.catalogue import prepared

pytestmark = pytest.mark.slow
ENDLESS = QueryRequest("SELECT sum(a.value) FROM generate_series(1, 100000000) a, generate_series(1, 100000) b", ())
ANSWERS_ALL = """
import io, sys
from pathlib import Path
from pipeline.query.child import load_libraries, request_from_json
load_libraries()
from pipeline.query.answers import write_answer
loaded = set(sys.modules)
for text in Path(sys.argv[1]).read_text().splitlines():
    write_answer(request_from_json(text), io.BytesIO())
print(sorted(set(sys.modules) - loaded))
"""


def sockets_of(pid: int) -> list[str]:
    """Sockets, and what waits for them, that a process has open."""
    opened = [os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir()]
    return [name for name in opened if name.startswith(("socket:", "anon_inode:"))]


@pytest.fixture
def copies() -> Iterator[Copies]:
    made = Copies()
    yield made
    made.close()


def test_a_copy_answers_as_one_that_was_started(copies: Copies) -> None:
    process = QueryProcess(start=copies.start)
    try:
        process.ask(QueryRequest("SELECT 1 AS n", (), form=AnswerForm(FileKind.CSV)))
        assert process.output.read() == b"n\n1\n"
        process.wait()
    finally:
        process.end()


@pytest.mark.skipif(landlock_version() == 0, reason="this kernel has no Landlock")
def test_a_copy_of_strangers_walls_itself_in(copies: Copies) -> None:
    process = QueryProcess(start=copies.start)
    try:
        request = QueryRequest("SELECT 1 AS n", (), QueryLimits(foreign=True), AnswerForm(FileKind.CSV))
        process.ask(request)
        process.wait()
        assert process.output.read() == b"n\n1\n"
    finally:
        process.end()


def test_a_copy_has_nothing_open_but_what_it_was_given(copies: Copies) -> None:
    waiting = [QueryProcess(start=copies.start) for _ in range(2)]
    try:
        for each in waiting:
            deadline = time.monotonic() + 60
            while sockets_of(each.pid):  # it closes them as the first thing it does
                assert time.monotonic() < deadline
                time.sleep(0.01)
        assert b"ODF_" not in Path(f"/proc/{copies.pid}/environ").read_bytes()
    finally:
        for each in waiting:
            each.end()


def test_a_copy_that_has_just_been_made_can_be_ended(copies: Copies) -> None:
    for _ in range(20):
        process = QueryProcess(start=copies.start)
        pid = process.pid
        process.end()
        assert not Path(f"/proc/{pid}").exists() or resident_bytes(pid) == 0


def test_how_a_copy_ended_is_told(copies: Copies) -> None:
    process = QueryProcess(start=copies.start)
    try:
        os.killpg(process.pid, signal.SIGABRT)
        with pytest.raises(EngineDied, match="ended with code -6"):
            process.wait()
        assert process.exit_code == -signal.SIGABRT
    finally:
        process.end()


def test_copies_end_with_the_one_that_they_are_of() -> None:
    copies = Copies()
    process = QueryProcess(start=copies.start)
    try:
        process.ask(ENDLESS)
        copies.close()
        with pytest.raises(EngineDied):
            process.wait()
        assert not process.alive
        with pytest.raises(EngineDied, match="copied"):
            QueryProcess(start=copies.start)
    finally:
        process.end()


def test_nothing_is_loaded_once_it_was_asked(tmp_path: Path) -> None:
    sql = "SELECT * FROM to_table('cities') WHERE city LIKE 'k%' ORDER BY population"
    request = asyncio.run(prepared(sql, tmp_path))
    shapes = [*JsonShape, *FileKind]
    forms = [AnswerForm(each, SchemaFormat.ODF_JSON if isinstance(each, JsonShape) else None) for each in shapes]
    requests = [QueryRequest(request.sql, request.tables, form=form).to_json() for form in forms]
    (tmp_path / "requests").write_text("\n".join(requests))
    command = [sys.executable, "-P", "-c", ANSWERS_ALL, str(tmp_path / "requests")]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
