"""Everything that changes a local store, each as one deed with what must hold before, after, and whenever it is cut.

A deed is run on a store prepared by ``prepare``. However it ends, ``state`` must be the old or the new one, never
anything between; and running it again must lead to the new one.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from opendatafabric.errors import RefConflict
from opendatafabric.layout import FOLDERS, block_key, data_key
from opendatafabric.multihash import physical_hash
from storage.dataset import Dataset
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore
from storage.quarantine import receive_object
from storage.values import WriteMode
from tests.storage.chains import ChainBuilder, chain

OLD, NEW = physical_hash(b"old"), physical_hash(b"new")
MANY = {block_key(physical_hash(b"%d" % i)): b"%d" % i for i in range(6)}
SLICE = bytes(range(256)) * 5_000
State = dict[str, bytes]


@dataclass(frozen=True)
class Deed:
    name: str
    run: Callable[[Path], Awaitable[None]]
    changes: dict[str, bytes | None]
    """What is different afterwards: key → bytes, or ``None`` for gone."""
    whole: bool = True
    """Whether all changes come at once; otherwise each one by itself."""
    last: str | None = None
    """The key that may only change once everything else has."""


async def _put(root: Path) -> None:
    await LocalObjectStore(root).put(data_key(NEW), b"new")


async def _create(root: Path) -> None:
    store = LocalObjectStore(root)
    if "created" not in await _alias(store):
        await store.delete("info/alias")
        await store.put("info/alias", b"created", WriteMode.CREATE)


async def _alias(store: LocalObjectStore) -> str:
    keys = [info.key async for info in store.list("info/")]
    return (await store.read("info/alias")).decode() if "info/alias" in keys else ""


async def _replace(root: Path) -> None:
    await LocalObjectStore(root).put("info/alias", b"replaced", WriteMode.REPLACE)


async def _put_many(root: Path) -> None:
    await LocalObjectStore(root).put_many(MANY)


async def _put_few(root: Path) -> None:
    await LocalObjectStore(root).put_many(dict(list(MANY.items())[:2]))


async def _receive(root: Path) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield SLICE

    name = physical_hash(SLICE)
    await receive_object(LocalObjectStore(root), data_key(name), pieces(), expected_hash=name, size_max=len(SLICE))


async def _delete(root: Path) -> None:
    await LocalObjectStore(root).delete(data_key(OLD))


async def _move_ref(root: Path) -> None:
    try:
        await LocalRefStore(root).compare_and_swap("head", expected=OLD, new=NEW)
    except RefConflict:
        assert await LocalRefStore(root).read("head") == NEW


async def _make_ref(root: Path) -> None:
    try:
        await LocalRefStore(root).compare_and_swap("staging", expected=None, new=NEW)
    except RefConflict:
        assert await LocalRefStore(root).read("staging") == NEW


async def _remove_ref(root: Path) -> None:
    try:
        await LocalRefStore(root).compare_and_swap("head", expected=OLD, new=None)
    except RefConflict:
        assert await LocalRefStore(root).read("head") is None


async def _append(root: Path) -> None:
    builder = _chain()
    dataset = Dataset(LocalObjectStore(root), LocalRefStore(root))
    await dataset.objects.put_many({data_key(name): data for name, data in builder.slices.items()})  # type: ignore[attr-defined]
    try:
        await dataset.append(builder.blocks, expected_head=None, block_ref="pushed")
    except RefConflict:
        assert await dataset.head("pushed") == builder.head


def _chain() -> ChainBuilder:
    builder = chain(["a", "b"])
    builder.data(b"slice")
    return builder


def _appended() -> dict[str, bytes | None]:
    builder = _chain()
    return {
        **{block_key(block.hash): block.raw for block in builder.blocks},
        **{data_key(name): data for name, data in builder.slices.items()},
        "refs/pushed": str(builder.head).encode(),
    }


DEEDS = [
    Deed("put", _put, {data_key(NEW): b"new"}),
    Deed("create", _create, {"info/alias": b"created"}, whole=False),
    Deed("replace", _replace, {"info/alias": b"replaced"}),
    Deed("put many", _put_many, dict(MANY), whole=False),
    Deed("put few", _put_few, dict(list(MANY.items())[:2]), whole=False),
    Deed("receive", _receive, {data_key(physical_hash(SLICE)): SLICE}),
    Deed("delete", _delete, {data_key(OLD): None}),
    Deed("move ref", _move_ref, {"refs/head": str(NEW).encode()}),
    Deed("make ref", _make_ref, {"refs/staging": str(NEW).encode()}),
    Deed("remove ref", _remove_ref, {"refs/head": None}),
    Deed("append", _append, _appended(), whole=False, last="refs/pushed"),
]


def prepare(root: Path) -> State:
    """A small dataset folder; its state."""
    for folder in FOLDERS:
        (root / folder).mkdir(parents=True)
    (root / data_key(OLD)).write_bytes(b"old")
    (root / "refs" / "head").write_bytes(str(OLD).encode())
    (root / "info" / "alias").write_bytes(b"before")
    return state(root)


def state(root: Path) -> State:
    """Every visible file and its bytes."""
    files = [path for folder in FOLDERS for path in (root / folder).glob("[!.]*")]
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


def after(deed: Deed, before: State) -> State:
    changed = {**before, **{key: data for key, data in deed.changes.items() if data is not None}}
    return {key: data for key, data in changed.items() if deed.changes.get(key, data) is not None}


def is_old_or_new(deed: Deed, before: State, now: State) -> bool:
    new = after(deed, before)
    if deed.whole or (deed.last is not None and deed.last in now):
        return now in (before, new)
    return all(now.get(key) in (before.get(key), new.get(key)) or key not in now for key in {*now, *before, *new})


def leftovers(root: Path) -> list[str]:
    return [os.path.relpath(path, root) for path in root.rglob(".pending-*")]


def run(deed: Deed, root: Path) -> None:
    asyncio.run(_run(deed, root))


async def _run(deed: Deed, root: Path) -> None:
    await deed.run(root)
