"""The worker and its client, with an engine without Spark: found, started, shared, replaced, ended."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opendatafabric.errors import EngineDied, EngineUnavailable, LimitExceeded, MalformedData, NotFound, OdfError
from pipeline.worker_client import WorkerClient
from pipeline.worker_place import WorkerOptions, WorkerPlace, locked
from tests.pipeline.plain_engine import JOBS

pytestmark = pytest.mark.slow

OPTIONS = WorkerOptions(engine="tests.pipeline.plain_engine", jobs=JOBS)
Client = Callable[..., WorkerClient]


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    """Makes clients of one place; whatever worker runs there at the end is ended."""
    place = tmp_path / "place"

    def make(say: Callable[[str], object] | None = None, **options: Any) -> WorkerClient:
        return WorkerClient(place, replace(OPTIONS, **options), say=say)

    yield make
    await make().end()


async def processes(client: WorkerClient) -> tuple[int, int]:
    """Of the engine and of the worker."""
    told = await client.run("process_of", {})
    return told["process"], told["worker"]


def runs(process: int) -> bool:
    return Path(f"/proc/{process}").exists()


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what another process does; there is no event of it."""
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_without_a_worker_one_is_started_and_the_next_client_finds_it(client: Client) -> None:
    said: list[str] = []
    first = await processes(client(said.append))
    assert said[0] == "starting the Spark worker"
    said.clear()
    assert await processes(client(said.append)) == first
    assert said == []


async def test_what_a_job_is_given_comes_back(client: Client) -> None:
    given = {"text": "é\n\x00", "number": 2**60, "nested": [{"a": None}]}
    assert await client().run("echo", given) == given


async def test_progress_is_told_on_the_way_and_prints_of_libraries_do_no_harm(client: Client) -> None:
    told: list[Any] = []
    assert await client().run("talk", {"times": 3}, progress=told.append) == {"said": 3}
    assert told == [{"rows": 0}, {"rows": 1}, {"rows": 2}]


async def test_an_error_of_a_job_keeps_its_family_and_all_it_says(client: Client) -> None:
    with pytest.raises(MalformedData) as raised:
        await client().run("refuse", {})
    assert raised.value.as_dict() == {
        "code": "malformed-data",
        "message": "the data are bad",
        "retryable": False,
        "expected": "good",
        "found": "bad",
        "hint": "better ones",
    }


async def test_a_job_that_fails_in_another_way_tells_one_line_and_the_engine_lives(client: Client) -> None:
    before = await processes(client())
    with pytest.raises(OdfError, match=r"^ZeroDivisionError: no division$"):
        await client().run("fail", {})
    assert await processes(client()) == before


async def test_a_job_that_is_unknown_is_told_with_those_that_are_not(client: Client) -> None:
    with pytest.raises(NotFound) as raised:
        await client().run("dance", {})
    assert "echo" in str(raised.value.expected)


async def test_an_engine_that_crashes_is_told_in_its_last_words_and_replaced(client: Client) -> None:
    engine, worker = await processes(client())
    with pytest.raises(EngineDied, match=r"code -9: .*I am about to crash") as raised:
        await client().run("crash", {})
    assert raised.value.retryable
    after = await processes(client())
    assert (after[0] != engine, after[1]) == (True, worker)


async def test_a_job_that_takes_too_long_is_ended_and_its_engine_replaced(client: Client) -> None:
    engine, _ = await processes(client())
    with pytest.raises(LimitExceeded, match="took too long"):
        await client().run("sleep", {"seconds": 100}, timeout_s=0.3)
    assert (await processes(client()))[0] != engine
    assert not runs(engine)


async def test_a_job_that_takes_too_much_memory_is_ended(client: Client) -> None:
    with pytest.raises(LimitExceeded, match="too much memory"):
        await client(memory_bytes_max=300_000_000).run("hoard", {}, timeout_s=60)
    assert await client(memory_bytes_max=300_000_000).run("echo", {}) == {}


async def test_a_result_that_is_too_long_is_an_error_and_not_the_end(client: Client) -> None:
    with pytest.raises(LimitExceeded, match="too long"):
        await client().run("shout", {"bytes": 17_000_000})
    assert len((await client().run("shout", {"bytes": 10_000_000}))["text"]) == 10_000_000


async def test_jobs_of_many_clients_are_done_one_after_another(client: Client) -> None:
    done = await asyncio.gather(*(client().run("echo", {"number": number}) for number in range(20)))
    assert [one["number"] for one in done] == list(range(20))


async def test_a_client_is_told_that_another_job_is_in_the_way(client: Client) -> None:
    asleep, waiting = asyncio.Event(), asyncio.Event()

    def hear(text: str) -> None:
        if text == "waiting for another job":
            waiting.set()

    long = asyncio.create_task(client().run("sleep", {"seconds": 100}, progress=lambda _: asleep.set()))
    await asyncio.wait_for(asleep.wait(), 60)
    short = asyncio.create_task(client(hear).run("echo", {"a": 1}))
    await asyncio.wait_for(waiting.wait(), 60)
    long.cancel()
    assert await short == {"a": 1}


async def test_a_client_that_goes_takes_its_job_with_it(client: Client) -> None:
    asleep = asyncio.Event()
    running = asyncio.create_task(client().run("sleep", {"seconds": 100}, progress=lambda _: asleep.set()))
    await asyncio.wait_for(asleep.wait(), 60)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    assert await asyncio.wait_for(client().run("echo", {}), 60) == {}


async def test_after_its_share_of_jobs_an_engine_is_replaced(client: Client) -> None:
    found = [await processes(client(jobs_per_engine=2)) for _ in range(4)]
    assert len({engine for engine, _ in found}) == 2
    assert len({worker for _, worker in found}) == 1


async def test_a_client_with_other_options_gets_another_worker(client: Client) -> None:
    first = await processes(client())
    second = await processes(client(cores=1))
    assert first[1] != second[1]
    assert not runs(first[0])


async def test_a_worker_that_nobody_needs_goes_and_takes_its_engine_along(client: Client, tmp_path: Path) -> None:
    engine, _ = await processes(client(idle_s=0.2))
    place = WorkerPlace(tmp_path / "place")
    await until(lambda: not place.is_locked())
    assert not runs(engine)
    assert "socket" not in os.listdir(place.root)


async def test_a_socket_that_was_left_behind_is_no_obstacle(client: Client, tmp_path: Path) -> None:
    place = WorkerPlace(tmp_path / "place")
    with socket.socket(socket.AF_UNIX) as stale, place.socket() as path:
        stale.bind(str(path))
    assert await client().run("echo", {"a": 1}) == {"a": 1}


async def test_a_worker_that_was_killed_is_told_and_replaced_by_the_next_client(client: Client) -> None:
    _, worker = await processes(client())
    asleep = asyncio.Event()
    running = asyncio.create_task(client().run("sleep", {"seconds": 100}, progress=lambda _: asleep.set()))
    await asyncio.wait_for(asleep.wait(), 60)
    os.kill(worker, signal.SIGKILL)
    with pytest.raises(EngineDied, match="worker ended in the middle"):
        await running
    assert (await processes(client()))[1] != worker


async def test_the_engine_of_a_killed_worker_does_not_outlive_it(client: Client) -> None:
    engine, worker = await processes(client())
    os.kill(worker, signal.SIGKILL)
    await until(lambda: not runs(engine))


async def test_nor_does_one_that_has_a_job_to_do(client: Client) -> None:
    engine, worker = await processes(client())
    asleep = asyncio.Event()
    running = asyncio.create_task(client().run("sleep", {"seconds": 600}, progress=lambda _: asleep.set()))
    await asyncio.wait_for(asleep.wait(), 60)
    os.kill(worker, signal.SIGKILL)
    await until(lambda: not runs(engine))
    with pytest.raises(EngineDied):
        await running


async def test_an_engine_that_cannot_start_is_told_as_it_is(client: Client) -> None:
    with pytest.raises(EngineUnavailable, match="there is no Java") as raised:
        await client(java_home="none").run("echo", {})
    assert raised.value.hint == "install one"
    with pytest.raises(EngineUnavailable, match="there is no Java"):
        await client(java_home="none").run("echo", {})


async def test_queries_of_strangers_need_a_sandbox_or_the_word_of_the_operator(client: Client) -> None:
    with pytest.raises(EngineUnavailable, match="no sandbox"):
        await client().run("echo", {"a": 1}, foreign=True)
    assert await client(java_home="walled").run("echo", {"a": 1}, foreign=True) == {"a": 1}
    assert await client(unsandboxed_foreign_queries=True).run("echo", {"a": 1}, foreign=True) == {"a": 1}


async def test_an_engine_sees_nothing_of_the_environment_and_stands_in_its_own_folder(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET", "of the operator")
    told = await client().run("describe_world", {})
    assert set(told["environment"]) <= {
        "PATH",
        "PYTHONPATH",
        "HOME",
        "TMPDIR",
        "TZ",
        "LC_ALL",
        "LC_CTYPE",
        "PYTHONHASHSEED",
    }
    assert told["folder"] == str(tmp_path / "place" / "work")


async def test_a_second_worker_of_a_place_leaves_it_to_the_first(client: Client, tmp_path: Path) -> None:
    before = await processes(client())
    command = [sys.executable, "-m", "pipeline.worker", str(tmp_path / "place"), OPTIONS.to_json()]
    await asyncio.to_thread(subprocess.run, command, check=True, timeout=60)
    assert await processes(client()) == before


async def test_many_clients_at_once_start_one_worker(client: Client) -> None:
    found = await asyncio.gather(*(processes(client()) for _ in range(5)))
    assert len({worker for _, worker in found}) == 1


async def test_a_deep_folder_has_a_socket_too(tmp_path: Path) -> None:
    client = WorkerClient(tmp_path / ("x" * 100) / ("y" * 100), OPTIONS)
    try:
        assert await client.run("echo", {"a": 1}) == {"a": 1}
    finally:
        await client.end()


async def test_nonsense_on_the_socket_is_answered_and_the_worker_lives(client: Client, tmp_path: Path) -> None:
    before = await processes(client())
    for nonsense in (b"", b"\n", b"[]\n", b"\xff\xfe\n", b"x" * 100_000 + b"\n"):
        reader, writer = await asyncio.open_unix_connection(tmp_path / "place" / "socket")
        writer.write(nonsense)
        writer.write_eof()
        answer = await reader.read()
        writer.close()
        assert nonsense == b"" or b"protocol-violation" in answer
    assert await processes(client()) == before


def test_a_lock_is_free_again_when_its_holder_is_gone(tmp_path: Path) -> None:
    with locked(tmp_path / "lock") as first, locked(tmp_path / "lock") as second:
        assert (first, second) == (True, False)
    with locked(tmp_path / "lock") as again:
        assert again


async def test_an_engine_runs_in_the_python_that_it_is_given(client: Client, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\ntouch {tmp_path}/ran\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    assert await client(python=str(python)).run("echo", {"a": 1}) == {"a": 1}
    assert (tmp_path / "ran").exists()
