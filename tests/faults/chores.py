"""What keeps a repository well, each as one chore with what must hold whenever it is cut, and once it is done.

A chore is done in a copy of what ``prepare`` made. However it ends, ``check`` must hold of the copy, and doing it again
must lead to what ``check_done`` asks for.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from cli.commands.fsck import HARMLESS
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import NotARepository, StorageError
from opendatafabric.layout import block_key, data_key
from opendatafabric.multihash import physical_hash
from storage.collect import collect
from storage.dataset import Dataset
from storage.fsck import fsck
from storage.local.leases import LEASES_FOLDER
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore
from storage.repository import Repository
from storage.scrub import scrub
from sync.backup import copy_repository
from tests.faults import deeds
from tests.faults.deeds import Deed
from tests.pipeline.datasets import blocks_of
from tests.storage.chains import dataset_id
from tests.suites.collecting import published, replaced, store_all
from tests.suites.dataset import fill

DATASET, SOUND = "dataset", "sound"
SOURCE, TARGET = "source", "target"
LEFT_ALONE = frozenset({"leftover", "orphan"})


@dataclass(frozen=True)
class Chore:
    """``check`` gets the folder as it was before, then the folder as it is."""

    name: str
    prepare: Callable[[Path], Awaitable[None]]
    run: Callable[[Path], Awaitable[None]]
    check: Callable[[Path, Path], Awaitable[None]]
    check_done: Callable[[Path], Awaitable[None]]


def dataset_in(root: Path) -> Dataset:
    return Dataset(LocalObjectStore(root), LocalRefStore(root))


async def damage_in(target: Dataset | Repository) -> list[str]:
    found = [finding async for finding in fsck(target)]
    return [f"{finding.code} {finding.key}" for finding in found if finding.code not in LEFT_ALONE]


async def check_one_more(before: Path, root: Path) -> None:
    """The old head or a new one with a block more, whole either way."""
    dataset = dataset_in(root / DATASET)
    assert await damage_in(dataset) == []
    old, now = await blocks_of(dataset_in(before / DATASET)), await blocks_of(dataset)
    assert now[: len(old)] == old
    assert len(now) - len(old) in {0, 1}


# --- collecting garbage


async def _prepare_garbage(root: Path) -> None:
    dataset = dataset_in(root / DATASET)
    (root / DATASET).mkdir(parents=True)
    await fill(dataset, published())
    await store_all(dataset, replaced())
    left = root / DATASET / "data" / ".pending-0123456789abcdef"
    left.write_bytes(b"half")
    os.utime(left, (0, 0))


async def _collect(root: Path) -> None:
    collected = await collect(dataset_in(root / DATASET), grace_s=-1)
    assert collected.refused is None


async def _check_published(_: Path, root: Path) -> None:
    assert await damage_in(dataset_in(root / DATASET)) == []
    assert await dataset_in(root / DATASET).head() == published().head


async def _check_collected(root: Path) -> None:
    expected = {*(block_key(block.hash) for block in published().blocks), *map(data_key, published().slices)}
    assert {key for key in deeds.state(root / DATASET) if not key.startswith("refs/")} == expected
    assert not list((root / DATASET / "data").glob(".pending-0123456789abcdef"))


# --- healing

DAMAGED = (block_key(published().blocks[1].hash), data_key(physical_hash(b"kept slice")))


async def _prepare_damage(root: Path) -> None:
    for name in (DATASET, SOUND):
        (root / name).mkdir(parents=True)
        await fill(dataset_in(root / name), published())
    for key in DAMAGED:
        (root / DATASET / key).write_bytes(b"rotten")
    (root / DATASET / block_key(published().blocks[0].hash)).unlink()


async def _heal(root: Path) -> None:
    sources = [LocalObjectStore(root / SOUND)]
    async for done in scrub(dataset_in(root / DATASET), sources=sources):
        if done.damage is not None and not done.healed:
            raise StorageError(f"{done.key} is still damaged: the copy could not be read")


async def _check_no_new_damage(before: Path, root: Path) -> None:
    sound, was = deeds.state(root / SOUND), deeds.state(before / DATASET)
    now = deeds.state(root / DATASET)
    assert all(data in (sound.get(key), was.get(key)) for key, data in now.items())
    assert now.keys() >= was.keys()


async def _check_healed(root: Path) -> None:
    assert deeds.state(root / DATASET) == deeds.state(root / SOUND)


# --- backing up and restoring, which are the same


async def _prepare_repository(root: Path) -> None:
    repository = Repository.init(root / SOURCE)
    entry = await repository.create(DatasetAlias.from_text("alice/a"), dataset_id())
    await fill(entry.dataset, published())


async def _copy(root: Path) -> None:
    async for _ in copy_repository(Repository.open(root / SOURCE), Repository.init(root / TARGET)):
        pass


async def _check_copy(before: Path, root: Path) -> None:
    assert files_in(root / SOURCE) == files_in(before / SOURCE)
    try:
        copy = Repository.open(root / TARGET)
    except NotARepository:
        return
    assert {finding.code async for finding in fsck(copy)} <= HARMLESS - {"foreign-file"}
    for entry in [entry async for entry in copy.iterate()]:
        assert await entry.dataset.head() == published().head


async def _check_copied(root: Path) -> None:
    copied = (await Repository.open(root / TARGET).find(dataset_id())).dataset
    assert await damage_in(copied) == []
    assert await copied.head() == published().head


def files_in(root: Path) -> dict[str, bytes]:
    """Every file but notes of leases, which die with their process."""
    found = (path for path in root.rglob("*") if path.is_file() and path.parent.name != LEASES_FOLDER)
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


CHORES = [
    Chore("collect", _prepare_garbage, _collect, _check_published, _check_collected),
    Chore("heal", _prepare_damage, _heal, _check_no_new_damage, _check_healed),
    Chore("copy", _prepare_repository, _copy, _check_copy, _check_copied),
]


async def repeated(chore: Chore, before: Path, root: Path) -> None:
    """What the killed one left is sound, and doing it again ends well."""
    await chore.check(before, root)
    await chore.run(root)
    await chore.check_done(root)


def as_chore(deed: Deed) -> Chore:
    """A change of a store, seen as a chore."""

    async def prepare(root: Path) -> None:
        deeds.prepare(root)

    async def check(before: Path, root: Path) -> None:
        assert deeds.is_old_or_new(deed, deeds.state(before), deeds.state(root)), sorted(deeds.state(root))

    async def check_done(root: Path) -> None:
        assert deeds.state(root) == deeds.after(deed, deeds.state(root.parent / BEFORE))

    return Chore(deed.name, prepare, deed.run, check, check_done)


BEFORE = "before"
"""The folder beside the copies that says how it was."""
