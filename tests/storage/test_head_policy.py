"""How heads may move: every way to move one asks the policy, and a policy that is set holds for all who move later."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from catalog.catalog import open_catalog
from catalog.sqlite_files import sqlite_url
from opendatafabric.block_ref import HEAD
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import ObjectNotFound, PolicyViolation, RefConflict, StorageError, TransientStorageError
from opendatafabric.layout import INFO_POLICY, data_key
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset
from storage.head_moves import HeadMove, hearing, move_head
from storage.head_policy import HeadPolicy, read_policy, write_policy
from storage.leases import moving
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore
from storage.memory import MemoryObjectStore, MemoryRefStore
from storage.open import Connection, init_repository
from storage.put_back import put_back
from storage.s3.location import S3Location
from storage.s3.objects import S3ObjectStore
from storage.s3.refs import S3RefStore
from storage.values import LeaseKind, WriteMode
from sync.simple import copy_chain
from sync.transfer import DatasetTarget, TransferOptions
from tests.ipfs.node import NodeAddresses, ipfs_node
from tests.source_tree import FLOORS, ROOT, python_files, text_of
from tests.storage.chains import ChainBuilder, chain
from tests.suites.dataset import fill

__all__ = ["ipfs_node"]

OLD, NEW, OTHER = chain(["a"]), chain(["a", "b"]), chain(["a", "other"])
APPEND_ONLY, NO_FORCE = HeadPolicy(append_only=True), HeadPolicy(allow_force=False)


@asynccontextmanager
async def _at_ipfs_node(node: NodeAddresses, folder: Path) -> AsyncIterator[Dataset]:
    async with open_catalog(sqlite_url(folder / "catalog.sqlite")) as catalog, aiohttp.ClientSession() as session:
        connection = Connection(session, tables=catalog.stores, cache_bytes_max=1_000_000)
        repository = await init_repository(f"{node.rpc}/{folder.name}", connection)
        yield (await repository.create(DatasetAlias.from_text("foo"), NEW.id)).dataset


@pytest.fixture(params=["memory", "local", *(pytest.param(each, marks=pytest.mark.slow) for each in ("s3", "ipfs"))])
async def dataset(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Dataset]:
    """With ``NEW`` in it."""
    async with AsyncExitStack() as stack:
        match request.param:
            case "memory":
                found = Dataset(MemoryObjectStore(), MemoryRefStore())
            case "local":
                found = Dataset(LocalObjectStore(tmp_path), LocalRefStore(tmp_path))
            case "s3":
                place: S3Location = request.getfixturevalue("s3_place")
                found = Dataset(S3ObjectStore(place), S3RefStore(place))
            case _:
                node: NodeAddresses = request.getfixturevalue("ipfs_node")
                found = await stack.enter_async_context(_at_ipfs_node(node, tmp_path))
        await fill(found, NEW)
        yield found


async def test_without_a_policy_everything_is_allowed(dataset: Dataset) -> None:
    assert await read_policy(dataset.objects) == HeadPolicy()
    await _append_by_force(dataset)
    assert await dataset.head() == OTHER.head


async def _append_by_force(dataset: Dataset) -> None:
    await dataset.append(OTHER.blocks[-1:], expected_head=NEW.head, force=True)


async def _copy_by_force(dataset: Dataset) -> None:
    source = Dataset(MemoryObjectStore(), MemoryRefStore())
    await fill(source, OTHER)
    await copy_chain(source, DatasetTarget(dataset), options=TransferOptions(force=True))


async def _move(dataset: Dataset) -> None:
    await _put_blocks(dataset, OTHER)
    move = HeadMove(HEAD, NEW.head, OTHER.head)
    await move_head(dataset.writable_objects(), dataset.refs, move)


async def _put_back(dataset: Dataset) -> None:
    await put_back(dataset, expected_head=NEW.head, new_head=OLD.head)


async def _put_blocks(dataset: Dataset, builder: ChainBuilder) -> None:
    from opendatafabric.layout import block_key  # noqa: PLC0415

    await dataset.writable_objects().put_many({block_key(block.hash): block.raw for block in builder.blocks})


Way = Callable[[Dataset], Awaitable[None]]


@pytest.mark.parametrize("way", [_append_by_force, _copy_by_force, _move, _put_back])
async def test_an_append_only_head_moves_forward_alone(dataset: Dataset, way: Way) -> None:
    await write_policy(dataset.writable_objects(), APPEND_ONLY)
    with pytest.raises(PolicyViolation):
        await way(dataset)
    assert await dataset.head() == NEW.head
    longer = chain(["a", "b", "c"])
    await dataset.append(longer.blocks[-1:], expected_head=NEW.head)
    assert await dataset.head() == longer.head


@pytest.mark.parametrize("way", [_append_by_force, _copy_by_force, _move])
async def test_a_head_that_may_not_be_forced_may_be_put_back(dataset: Dataset, way: Way) -> None:
    await write_policy(dataset.writable_objects(), NO_FORCE)
    with pytest.raises(PolicyViolation):
        await way(dataset)
    await _put_back(dataset)
    assert await dataset.head() == OLD.head


async def test_what_contains_the_head_continues_it_however_it_came(dataset: Dataset) -> None:
    await write_policy(dataset.writable_objects(), APPEND_ONLY)
    source, longer = Dataset(MemoryObjectStore(), MemoryRefStore()), chain(["a", "b", "c"])
    await fill(source, longer)
    await copy_chain(source, DatasetTarget(dataset), options=TransferOptions(force=True, since=OLD.head))
    assert await dataset.head() == longer.head


async def test_the_first_head_is_free(dataset: Dataset) -> None:
    empty = Dataset(MemoryObjectStore(), MemoryRefStore())
    await write_policy(empty.writable_objects(), APPEND_ONLY)
    await fill(empty, OLD)
    assert await empty.head() == OLD.head


async def test_a_damaged_policy_lets_nothing_move(dataset: Dataset) -> None:
    await dataset.writable_objects().put(INFO_POLICY, b"{", WriteMode.REPLACE)
    with pytest.raises(StorageError, match="damaged"):
        await dataset.append(chain(["a", "b", "c"]).blocks[-1:], expected_head=NEW.head)
    await write_policy(dataset.writable_objects(), HeadPolicy())
    await _append_by_force(dataset)


async def test_whoever_sets_a_policy_waits_for_those_who_move_by_the_one_before(dataset: Dataset) -> None:
    objects = dataset.writable_objects()
    async with moving(objects.leases):
        before = await read_policy(objects)
        setting = asyncio.create_task(write_policy(objects, APPEND_ONLY))
        done, _ = await asyncio.wait({setting}, timeout=0.05)
        assert (before, done) == (HeadPolicy(), set())
    await setting
    assert [each for each in await objects.leases.standing() if each.kind is LeaseKind.MOVE] == []


async def test_a_mover_that_does_not_end_is_told(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.leases.LOCK_WAIT_S_MAX", 0.01)
    objects = dataset.writable_objects()
    async with moving(objects.leases):
        with pytest.raises(TransientStorageError, match="move the head"):
            await write_policy(objects, APPEND_ONLY)


async def test_of_a_forced_move_and_a_policy_at_once_one_is_first(dataset: Dataset) -> None:
    for _ in range(10):
        moved, _ = await asyncio.gather(
            _move(dataset), write_policy(dataset.writable_objects(), APPEND_ONLY), return_exceptions=True
        )
        assert moved is None or isinstance(moved, PolicyViolation | RefConflict)
        assert (await dataset.head() == OTHER.head) is (moved is None)
        with pytest.raises((PolicyViolation, RefConflict)):
            await put_back(dataset, expected_head=await _head(dataset), new_head=OLD.head)
        await write_policy(dataset.writable_objects(), HeadPolicy())
        if moved is None:
            await put_back(dataset, expected_head=OTHER.head, new_head=NEW.head)


async def _head(dataset: Dataset) -> Multihash:
    head = await dataset.head()
    assert head is not None
    return head


async def test_a_head_is_put_back_only_to_what_is_whole(dataset: Dataset) -> None:
    longer = chain(["a", "b"])
    longer.data(b"records")
    for content_hash, content in longer.slices.items():
        await dataset.writable_objects().put(data_key(content_hash), content)
    await dataset.append(longer.blocks[-2:], expected_head=NEW.head)
    await put_back(dataset, expected_head=longer.head, new_head=NEW.head)
    await put_back(dataset, expected_head=NEW.head, new_head=longer.head)
    await put_back(dataset, expected_head=longer.head, new_head=NEW.head)
    for content_hash in longer.slices:
        await dataset.writable_objects().delete(data_key(content_hash))
    with pytest.raises(ObjectNotFound, match="collected"):
        await put_back(dataset, expected_head=NEW.head, new_head=longer.head)
    assert await dataset.head() == NEW.head


async def test_whoever_listens_hears_of_heads_that_moved_and_of_nothing_else(dataset: Dataset) -> None:
    heard: list[HeadMove] = []
    objects = dataset.writable_objects()
    with hearing(lambda _, __, move: heard.append(move)):
        await _append_by_force(dataset)
        with pytest.raises(RefConflict):
            await move_head(objects, dataset.refs, HeadMove(HEAD, NEW.head, OLD.head))
        await move_head(objects, dataset.refs, HeadMove("staging", None, OLD.head))
    await move_head(objects, dataset.refs, HeadMove(HEAD, OTHER.head, NEW.head))
    assert [(move.expected_head, move.new_head) for move in heard] == [(NEW.head, OTHER.head)]


MOVING = {
    "storage/head_moves.py": "where heads move",
    "storage/s3/parked_head.py": "a dataset goes out of sight",
    "storage/s3/repository.py": "a dataset is removed",
    "verify/promotion.py": "staged heads are forgotten, and heads that moved go back when not all could",
}
"""Whoever moves a ref by itself, and why it is no way around the policy."""


def test_there_is_no_other_way_to_move_a_head() -> None:
    calling = {
        str(path.relative_to(ROOT) if path.is_absolute() else path)
        for path in python_files(*FLOORS)
        if "storage/wrappers" not in str(path)
        for node in ast.walk(ast.parse(text_of(path)))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "compare_and_swap"
    }
    assert calling == set(MOVING)
