"""Processes over one folder or bucket push by force, collect without grace, read, and are killed: nothing is lost."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from opendatafabric.chain.objects import objects_of
from opendatafabric.errors import RefConflict
from opendatafabric.layout import data_key
from storage.collect import collect
from storage.dataset import Dataset
from storage.leases import held_head
from storage.local.leases import LEASES_FOLDER
from storage.open import open_dataset
from storage.s3 import leases
from storage.s3.location import S3Location
from tests.storage.chains import ChainBuilder
from tests.storage.s3.test_objects import names_in
from tests.suites.dataset import stored_keys

pytestmark = pytest.mark.slow

SECONDS = 12
SPAWN = multiprocessing.get_context("spawn")
Actor = Callable[[Dataset, random.Random], Awaitable[None]]


async def push(dataset: Dataset, chance: random.Random) -> None:
    head = await dataset.head()
    builder = ChainBuilder()
    for _ in range(chance.randrange(1, 5)):
        builder.data(b"slice %d" % chance.randrange(5))
    files = [file for block in builder.blocks for file in objects_of(block)]
    async with dataset.held(files):
        for file in await dataset.missing_objects(files):
            content = builder.slices[file.physical_hash]
            await dataset.writable_objects().put(data_key(file.physical_hash), content)
        with suppress(RefConflict):  # another one was faster
            await dataset.append(builder.blocks, expected_head=head, force=True)


async def collect_all(dataset: Dataset, _: random.Random) -> None:
    assert (await collect(dataset, grace_s=-1)).refused is None


async def read(dataset: Dataset, _: random.Random) -> None:
    head = await dataset.head()
    if head is None:
        return
    async with held_head(dataset.writable_objects().leases, head):
        if await dataset.head() == head:
            await keys_under_head(dataset)


async def keys_under_head(dataset: Dataset) -> set[str]:
    """Everything is read."""
    head = await dataset.head()
    assert head is not None
    keys = set()
    async for batch in dataset.walk(head):
        for block in batch:
            keys.add(f"blocks/{block.hash}")
            for file in objects_of(block):
                keys.add(data_key(file.physical_hash))
                await dataset.objects.read(data_key(file.physical_hash))
    return keys


def act(actor: Actor, address: str, seed: int, until: float) -> None:
    """What a process does."""

    async def act_often() -> None:
        chance = random.Random(seed)
        while time.time() < until:
            await actor(open_dataset(address), chance)

    asyncio.run(act_often())


def started(*arguments: Any) -> Any:
    process = SPAWN.Process(target=act, args=arguments)
    process.start()
    return process


def play(address: str, *, victim: Actor) -> None:
    """Four processes side by side, and again and again a ``victim`` that is killed."""
    until = time.time() + SECONDS
    actors: list[Actor] = [push, push, collect_all, read]
    processes = [started(actor, address, seed, until) for seed, actor in enumerate(actors)]
    while time.time() < until - 3:
        doomed = started(victim, address, 0, until)
        doomed.join(1 + random.random())
        doomed.kill()
        doomed.join()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * len(processes)


def assert_nothing_but_the_chain_is_there(dataset: Dataset) -> None:
    asyncio.run(collect_all(dataset, random.Random()))
    assert asyncio.run(stored_keys(dataset)) == asyncio.run(keys_under_head(dataset))


def test_processes_that_push_collect_read_and_die_lose_nothing(tmp_path: Path) -> None:
    play(str(tmp_path), victim=collect_all)
    assert_nothing_but_the_chain_is_there(open_dataset(str(tmp_path)))
    assert os.listdir(tmp_path / LEASES_FOLDER) == []


def test_in_a_bucket_they_lose_nothing_either(s3_place: S3Location, monkeypatch: pytest.MonkeyPatch) -> None:
    play(str(s3_place), victim=push)
    with monkeypatch.context() as later:
        later.setattr(leases, "LEASE_SILENCE_S_MAX", -1)  # the dead were silent for long enough
        assert asyncio.run(leases.S3LeaseStore(s3_place).standing()) == []
    assert_nothing_but_the_chain_is_there(open_dataset(str(s3_place)))
    assert not [name for name in names_in(s3_place) if name.startswith(leases.LEASES_FOLDER)]
