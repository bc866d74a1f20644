"""The server process dies at every step that its stores make during a push, before it and after it.

Each time the repository opens, ``fsck`` finds nothing but garbage, the head is the old one or the new one, garbage
collection leaves what the head leads to and nothing else, and the same push then succeeds.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from catalog.catalog import open_catalog
from cli.commands.fsck import HARMLESS
from opendatafabric import limits
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import DatasetNotFound, OdfError
from opendatafabric.layout import checkpoint_key, data_key
from opendatafabric.metadata.events import AddData
from opendatafabric.metadata.slices import Checkpoint
from opendatafabric.multihash import Multihash, physical_hash
from opendatafabric.names import AccountName
from repo_server.config import Settings
from storage import backoff
from storage.collect_repository import collect_repository
from storage.dataset import Dataset
from storage.fsck import fsck
from storage.repository import Repository
from sync.push import push_dataset
from sync.remote import parse_remote
from tests.source_tree import ROOT
from tests.storage.chains import ChainBuilder
from tests.sync.scenarios.stage import fill, history, keys_of
from tests.sync.smart_server import memory_dataset

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ALIAS = DatasetAlias.from_text("alice/weather")
CHECKPOINT = b"what a source left to remember" * 9_000
STEPS_MAX = 200


@dataclass
class Zygote:
    """The process that forks servers."""

    process: subprocess.Popen[str]

    async def ask(self, line: str) -> str:
        return await asyncio.to_thread(self._ask, line)

    def _ask(self, line: str) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


@pytest.fixture
def zygote(tmp_path: Path) -> Iterator[Zygote]:
    command = [sys.executable, "-m", "tests.faults.mortal_server", str(tmp_path / "trace")]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Zygote(process)
        assert process.stdin is not None
        process.stdin.close()


@dataclass
class Served:
    """A server that may die; ``steps`` is known once it has ended."""

    address: str
    steps: list[str]


@asynccontextmanager
async def serving(zygote: Zygote, folder: Path, strike_at: int = 0, moment: str = "before") -> AsyncIterator[Served]:
    served = Served(await zygote.ask(f"serve {folder} {strike_at} {moment}"), [])
    try:
        yield served
    finally:
        served.steps.extend(json.loads(await zygote.ask("end")))


@dataclass
class Pushed:
    """A chain with slices and a checkpoint, as it lies at the client."""

    builder: ChainBuilder
    dataset: Dataset

    async def to(self, server: Served, token: str) -> None:
        async with aiohttp.ClientSession() as session:
            await push_dataset(session, self.dataset, parse_remote(f"odf+{server.address}/{ALIAS}"), token=token)


async def client_with(builder: ChainBuilder) -> Pushed:
    dataset = memory_dataset()
    await dataset.writable_objects().put(checkpoint_key(physical_hash(CHECKPOINT)), CHECKPOINT)
    await fill(dataset, builder)
    return Pushed(builder, dataset)


def with_checkpoint(builder: ChainBuilder) -> ChainBuilder:
    checkpoint = Checkpoint(physical_hash(CHECKPOINT), len(CHECKPOINT))
    builder.add(AddData(prev_offset=builder.last_offset, new_checkpoint=checkpoint))
    return builder


async def new_repository(folder: Path) -> str:
    """A repository; a token of alice."""
    Repository.init(folder)
    async with open_catalog(Settings(repo=folder).database_url) as catalog:
        return await catalog.tokens.create(await catalog.accounts.find_or_create(AccountName("alice")))


async def head_in(folder: Path) -> Multihash | None:
    with suppress(DatasetNotFound):
        return await (await Repository.open(folder).find(ALIAS)).dataset.head()
    return None


async def assert_only_garbage(folder: Path) -> None:
    codes = {finding.code async for finding in fsck(Repository.open(folder))}
    assert codes <= HARMLESS - {"foreign-file"}


def make_leftovers_old(folder: Path) -> None:
    for path in folder.rglob(".pending-*"):
        os.utime(path, (0, 0))


async def collect_everything(folder: Path) -> None:
    """Garbage goes, however young it is."""
    make_leftovers_old(folder)
    repository = Repository.open(folder)
    async for each in collect_repository(repository, grace_s=-1):
        assert each.collected.refused is None
    await repository.sweep(unused_for_s=-60)


async def assert_clean(folder: Path, head: Multihash | None, whole: list[Pushed]) -> None:
    """Nothing is stored but what ``head`` leads to."""
    assert [finding async for finding in fsck(Repository.open(folder))] == []
    if head is None:
        assert [entry async for entry in Repository.open(folder).iterate(include_pending=True)] == []
        return
    pushed = next(each for each in whole if each.builder.head == head)
    stored = (await Repository.open(folder).find(ALIAS)).dataset
    assert await keys_of(stored) == await keys_of(pushed.dataset)
    for key in await keys_of(pushed.dataset):
        assert await stored.objects.read(key, size_max=10**6) == await pushed.dataset.objects.read(key, size_max=10**6)


async def killed_at_every_step(
    zygote: Zygote, folder: Path, moment: str, *, old: Pushed | None, new: Pushed
) -> list[str]:
    """Push ``new`` on top of ``old`` to servers that die at step 1, 2, 3 …; the steps of the first that survived."""
    heads = {None if old is None else old.builder.head, new.builder.head}
    token = await new_repository(folder / "before")
    if old is not None:
        async with serving(zygote, folder / "before") as server:
            await old.to(server, token)
    for strike_at in range(1, STEPS_MAX):
        place = folder / str(strike_at)
        shutil.copytree(folder / "before", place)
        survived = False
        async with serving(zygote, place, strike_at, moment) as server:
            with suppress(OdfError):
                await new.to(server, token)
                survived = True
        head = await head_in(place)
        assert head in heads, server.steps[-1]
        await assert_only_garbage(place)
        await collect_everything(place)
        await assert_clean(place, head, [new] if old is None else [old, new])
        async with serving(zygote, place) as again:
            await new.to(again, token)
        await assert_clean(place, new.builder.head, [new])
        if len(server.steps) < strike_at:
            assert survived
            return server.steps
    raise AssertionError("no server survived")


@pytest.fixture(autouse=True)
def impatient_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "WAIT_S_MAX", 0.0)
    monkeypatch.setattr(limits, "CONVERSATIONS_MAX", 1)


def operations(steps: list[str]) -> set[str]:
    return {step.split()[0] for step in steps}


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_new_dataset(tmp_path: Path, zygote: Zygote, moment: str) -> None:
    new = await client_with(with_checkpoint(history()))
    steps = await killed_at_every_step(zygote, tmp_path, moment, old=None, new=new)
    assert operations(steps) >= {"create", "quarantine", "publish", "put_many", "compare_and_swap"}


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_an_append(tmp_path: Path, zygote: Zygote, moment: str) -> None:
    old = await client_with(history())
    builder = old.builder.fork(len(old.builder.blocks))
    builder.data(b"new")
    new = await client_with(with_checkpoint(builder))
    # The client that has the old chain alone has not the checkpoint of the new one.
    await old.dataset.writable_objects().delete(checkpoint_key(physical_hash(CHECKPOINT)))
    steps = await killed_at_every_step(zygote, tmp_path, moment, old=old, new=new)
    assert operations(steps) >= {"quarantine", "publish", "put_many", "compare_and_swap"}
    assert f"publish {data_key(physical_hash(b'new'))}" in steps
