"""Objects of large datasets are checked in processes: the same findings, and no file that breaks one stops a run."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from opendatafabric.layout import data_key
from opendatafabric.metadata.events import SetVocab
from opendatafabric.metadata.slices import OffsetInterval
from opendatafabric.multihash import physical_hash
from storage.dataset import Dataset
from storage.local.objects import LocalObjectStore
from storage.memory import MemoryObjectStore
from storage.values import ObjectInfo
from tests.verify.damage import DATASETS, in_folder, parquet, records, slice_of, small_dataset
from tests.verify.test_objects import DATA, memory_with, task_of
from verify.integrity import verify_integrity
from verify.logical import SliceClaims
from verify.object_checks import ObjectChecks, cores
from verify.objects import ObjectOutcome, ObjectTask, check_file
from verify.report import Severity

pytestmark = pytest.mark.timeout(120)
IN_PROCESSES = {"parallel": 2, "large_bytes_min": 0}


def stored(root: Path, count: int = 4) -> list[ObjectTask]:
    """So many objects in files."""
    tasks = [task_of(b"%d" % number) for number in range(count)]
    for number, task in enumerate(tasks):
        (root / task.key).parent.mkdir(parents=True, exist_ok=True)
        (root / task.key).write_bytes(b"%d" % number)
    return tasks


async def checked(checks: ObjectChecks, tasks: list[ObjectTask]) -> list[ObjectOutcome]:
    try:
        return await asyncio.gather(*map(checks.check, tasks))
    finally:
        await checks.close()


@pytest.mark.slow
async def test_objects_are_checked_in_processes(tmp_path: Path) -> None:
    tasks = stored(tmp_path)
    (tmp_path / tasks[1].key).write_bytes(b"?")
    (tmp_path / tasks[2].key).unlink()
    checks = ObjectChecks(LocalObjectStore(tmp_path), **IN_PROCESSES)
    await checks.ready()
    outcomes = await checked(checks, tasks)
    assert [[each.code for each in outcome.findings] for outcome in outcomes] == [
        [],
        ["object-damaged"],
        ["object-missing"],
        [],
    ]
    assert outcomes[0].bytes_read == 1


@pytest.mark.slow
async def test_a_whole_dataset_reads_the_same_in_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = next(each for each in DATASETS if each.name == "us.noaa.seattle-weather")
    in_threads = await verify_integrity(in_folder(folder), parallel=2)
    monkeypatch.setattr("verify.object_checks.LARGE_BYTES_MIN", 0)
    assert (await verify_integrity(in_folder(folder), parallel=2)).as_dict() == in_threads.as_dict()


async def test_while_processes_start_threads_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started, ended = threading.Event(), threading.Event()

    def slow(_: int) -> ThreadPoolExecutor:
        started.set()
        ended.wait(60)
        return ThreadPoolExecutor(1)

    monkeypatch.setattr("verify.object_checks._new_pool", slow)
    checks = ObjectChecks(LocalObjectStore(tmp_path), **IN_PROCESSES)
    assert [(await checks.check(task)).findings for task in stored(tmp_path)] == [[]] * 4
    await asyncio.to_thread(started.wait, 60)
    ended.set()
    await checks.close()


@pytest.mark.slow
async def test_an_object_that_breaks_a_process_is_unchecked_and_the_others_are_checked(tmp_path: Path) -> None:
    tasks = stored(tmp_path)
    fatal = Fatal(**{name: getattr(tasks[2], name) for name in tasks[2].__slots__})
    checks = ObjectChecks(LocalObjectStore(tmp_path), **IN_PROCESSES)
    await checks.ready()
    outcomes = [await checks.check(task) for task in (tasks[0], fatal, tasks[3])]
    await checks.close()
    assert [[each.code for each in outcome.findings] for outcome in outcomes] == [[], ["object-unreadable"], []]
    assert outcomes[1].findings[0].severity is Severity.UNCHECKED


class Fatal(ObjectTask):
    """Kills the process that looks at it, and nobody else."""

    __slots__ = ()

    def __reduce__(self) -> tuple[object, ...]:
        return _die, (os.getpid(),)


def _die(parent: int) -> None:
    if os.getpid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(("parallel", "large_bytes_min"), [(1, 0), (2, 1 << 40)])
async def test_small_datasets_and_single_cores_need_no_process(
    tmp_path: Path, parallel: int, large_bytes_min: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("verify.object_checks._new_pool", refused)
    checks = ObjectChecks(LocalObjectStore(tmp_path), parallel, large_bytes_min=large_bytes_min)
    assert [outcome.findings for outcome in await checked(checks, stored(tmp_path))] == [[]] * 4


async def test_no_more_threads_read_than_there_are_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, most, tasks = 0, 0, [task_of(b"%d" % number) for number in range(9)]

    async def counted(_: object, task: ObjectTask) -> ObjectOutcome:
        nonlocal reading, most
        reading += 1
        most = max(most, reading)
        await asyncio.sleep(0)
        reading -= 1
        return ObjectOutcome()

    monkeypatch.setattr("verify.object_checks.check_object", counted)
    checks = ObjectChecks(MemoryObjectStore(), 3)
    assert checks.at_once > 3
    await checked(checks, tasks)
    assert most == 3


async def test_objects_that_are_no_files_need_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verify.object_checks._new_pool", refused)
    (outcome,) = await checked(ObjectChecks(memory_with(DATA), **IN_PROCESSES), [task_of(DATA)])
    assert outcome.findings == []


def refused(parallel: int) -> None:
    raise AssertionError("no process is needed")


def test_what_goes_to_a_process_and_comes_back_stays_what_it_is(tmp_path: Path) -> None:
    made = small_dataset()
    raw = parquet(records(0, ["a"]))
    data = slice_of(raw, OffsetInterval(0, 5))
    assert made.state.data is not None
    claims = SliceClaims(data, made.state.data, made.state.data_schema, SetVocab(), None)
    task = ObjectTask(data_key(physical_hash(raw)), physical_hash(raw), 1, physical_hash(b"block"), len(raw), claims)
    assert pickle.loads(pickle.dumps(task)) == task
    (tmp_path / "data").mkdir()
    (tmp_path / task.key).write_bytes(raw)
    outcome = check_file(tmp_path / task.key, task)
    assert outcome.findings
    assert pickle.loads(pickle.dumps(outcome)) == outcome


def test_there_is_a_core() -> None:
    assert 1 <= cores() <= (os.cpu_count() or 1)


async def test_a_run_that_is_cancelled_leaves_no_check_behind() -> None:
    made = small_dataset()
    stuck = Stuck(made.objects)
    running = asyncio.create_task(verify_integrity(Dataset(stuck, made.refs)))
    await stuck.asked.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not stuck.waiting


class Stuck(MemoryObjectStore):
    """Never sends an object."""

    def __init__(self, sound: MemoryObjectStore) -> None:
        super().__init__()
        self.objects, self.asked, self.waiting = sound.objects, asyncio.Event(), 0

    async def stat(self, key: str) -> ObjectInfo:
        if key.startswith("data/"):
            self.asked.set()
            self.waiting += 1
            try:
                await asyncio.Event().wait()
            finally:
                self.waiting -= 1
        return await super().stat(key)
