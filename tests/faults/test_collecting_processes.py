"""Processes over one folder push by force, collect without grace, read, and are killed: nothing is lost."""

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
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore
from tests.storage.chains import ChainBuilder
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


def dataset_in(root: Path) -> Dataset:
    return Dataset(LocalObjectStore(root), LocalRefStore(root))


def act(actor: Actor, root: Path, seed: int, until: float) -> None:
    """What a process does."""

    async def act_often() -> None:
        chance = random.Random(seed)
        while time.time() < until:
            await actor(dataset_in(root), chance)

    asyncio.run(act_often())


def started(*arguments: Any) -> Any:
    process = SPAWN.Process(target=act, args=arguments)
    process.start()
    return process


def test_processes_that_push_collect_read_and_die_lose_nothing(tmp_path: Path) -> None:
    until = time.time() + SECONDS
    actors: list[Actor] = [push, push, collect_all, read]
    processes = [started(actor, tmp_path, seed, until) for seed, actor in enumerate(actors)]
    while time.time() < until - 3:
        victim = started(collect_all, tmp_path, 0, until)
        victim.join(1 + random.random())
        victim.kill()
        victim.join()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * len(processes)
    dataset = dataset_in(tmp_path)
    asyncio.run(collect_all(dataset, random.Random()))
    assert asyncio.run(stored_keys(dataset)) == asyncio.run(keys_under_head(dataset))
    assert os.listdir(tmp_path / LEASES_FOLDER) == []
