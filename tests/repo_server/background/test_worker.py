"""The worker as a child of the server: started when it is needed, again when it dies, ended with the server."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from catalog.catalog import Catalog, open_catalog
from catalog.jobs import POLL, JobId
from opendatafabric.did import new_dataset_id
from repo_server.background.worker import WorkerProcess, WorkerState
from repo_server.config import Settings
from storage.repository import Repository

JOB = JobId(POLL, new_dataset_id(bytes(32)))


class Child:
    """A program that writes what it is told into a file, then does ``then``."""

    def __init__(self, folder: Path, then: str) -> None:
        self.said = folder / "said"
        program = f"import os, sys, signal\nopen({str(self.said)!r}, 'a').write(f'{{os.getpid()}}\\n')\n{then}\n"
        self.command = [sys.executable, "-c", program]

    def pids(self) -> list[int]:
        """Of all that ran."""
        return [int(line) for line in self.said.read_text().split()] if self.said.exists() else []


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    Repository.init(tmp_path / "repository")
    return Settings(repo=tmp_path / "repository", stop_s=0)


@pytest.fixture
async def catalog(settings: Settings) -> AsyncIterator[Catalog]:
    async with open_catalog(settings.database_url) as opened:
        yield opened


@asynccontextmanager
async def supervised(settings: Settings, catalog: Catalog, child: Child | None) -> AsyncIterator[WorkerProcess]:
    """A supervisor at work."""
    waits: dict[str, Any] = {"wait_s": lambda deaths: 0.0, "look_every_s": 0.01}
    worker = WorkerProcess(settings, catalog.jobs, command=None if child is None else child.command, **waits)
    running = asyncio.create_task(worker.run_for_ever())
    try:
        yield worker
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def until(condition: Any) -> None:
    """Wait for what another process brings about."""
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110  (there is no event to wait for)
            await asyncio.sleep(0.01)


async def test_no_worker_is_started_before_there_is_something_to_do(
    settings: Settings, catalog: Catalog, tmp_path: Path
) -> None:
    child = Child(tmp_path, "sys.stdin.read()")
    async with supervised(settings, catalog, child) as worker:
        assert (worker.state, child.pids()) == (WorkerState.NOT_NEEDED, [])
        await catalog.jobs.request(JOB)
        await until(child.pids)
        assert worker.as_dict() == {"state": "running", "deaths": 0}


async def test_a_worker_that_dies_is_started_again(settings: Settings, catalog: Catalog, tmp_path: Path) -> None:
    await catalog.jobs.request(JOB)
    child = Child(tmp_path, "os.abort()")
    async with supervised(settings, catalog, child) as worker:
        await until(lambda: len(child.pids()) > 2)
        assert worker.deaths >= 2


async def test_one_that_cannot_be_started_is_tried_again(settings: Settings, catalog: Catalog) -> None:
    await catalog.jobs.request(JOB)
    nowhere = WorkerProcess(settings, catalog.jobs, command=["/nowhere/worker"], wait_s=lambda deaths: 0.0)
    running = asyncio.create_task(nowhere.run_for_ever())
    await until(lambda: nowhere.deaths > 1)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    assert nowhere.state is WorkerState.WAITING


async def test_it_ends_with_the_server_and_is_killed_if_it_does_not(
    settings: Settings, catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("repo_server.background.worker._MORE_S", 0.05)
    await catalog.jobs.request(JOB)
    child = Child(tmp_path, "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.pause()")
    async with supervised(settings, catalog, child):
        await until(child.pids)
    with pytest.raises(ProcessLookupError):
        os.kill(child.pids()[0], 0)


async def test_told_to_stop_it_starts_no_other(settings: Settings, catalog: Catalog, tmp_path: Path) -> None:
    await catalog.jobs.request(JOB)
    child = Child(tmp_path, "sys.stdin.read()")
    worker = WorkerProcess(settings, catalog.jobs, command=child.command, wait_s=lambda deaths: 0.0)
    running = asyncio.create_task(worker.run_for_ever())
    await until(child.pids)
    worker.stop()
    await running
    assert (len(child.pids()), worker.deaths) == (1, 0)


async def test_told_to_stop_while_it_starts_one_it_ends_that(
    settings: Settings, catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await catalog.jobs.request(JOB)
    child, start = Child(tmp_path, "sys.stdin.read()"), asyncio.create_subprocess_exec

    async def stopping_meanwhile(*command: Any, **options: Any) -> Any:
        process = await start(*command, **options)
        worker.stop()
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", stopping_meanwhile)
    worker = WorkerProcess(settings, catalog.jobs, command=child.command)
    async with asyncio.timeout(30):
        await worker.run_for_ever()


@pytest.mark.slow
async def test_the_real_worker_does_what_is_due_and_is_replaced_when_it_is_killed(
    settings: Settings, catalog: Catalog
) -> None:
    of_others = workers_started_here()
    await catalog.jobs.request(JOB)
    async with supervised(settings, catalog, None) as worker:
        await done(catalog)
        (pid,) = workers_started_here() - of_others
        os.kill(pid, signal.SIGKILL)
        await until(lambda: worker.deaths == 1)
        await catalog.jobs.request(JOB)
        await done(catalog)
    assert await catalog.jobs.state(JOB) is None  # there is no such dataset: whoever looked ended its jobs


async def done(catalog: Catalog) -> None:
    """Wait for the worker to have done the job."""
    async with asyncio.timeout(60):
        while await catalog.jobs.are_any([POLL]):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


def workers_started_here() -> set[int]:
    """Processes of workers that this one started and that still run; tests that share this process keep some warm."""
    listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return {int(pid) for pid in listed if b"worker" in Path(f"/proc/{pid}/cmdline").read_bytes()}
