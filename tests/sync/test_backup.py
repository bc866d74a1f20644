"""A repository is copied whole while others replace chains by force and collect garbage."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.head_signature import HeadSignature
from opendatafabric.layout import report_key
from opendatafabric.multihash import physical_hash
from storage.collect import collect
from storage.dataset import Dataset
from storage.fsck import fsck
from storage.head_policy import HeadPolicy, read_policy, write_policy
from storage.head_signatures import add_signature, read_signatures
from storage.local.objects import LocalObjectStore
from storage.memory import MemoryObjectStore
from storage.protocols import ObjectStore
from storage.repository import DatasetEntry, Repository
from storage.static_tree import LocalStaticTree
from storage.values import ByteRange
from storage.wrappers.passing import PassingObjectStore
from sync.backup import copy_reports, copy_repository
from sync.static_export import export_static
from tests.storage.chains import ChainBuilder, instant
from tests.suites.collecting import published, replaced, store_all
from tests.suites.dataset import fill

SECRET, AT = bytes(range(32)), instant(0)


def other_chain() -> ChainBuilder:
    """One that leaves the published one after its seed."""
    found = published().fork(1)
    found.info("another chain")
    return found


class Busy(PassingObjectStore):
    """Before the first object is read, others replace the chain by force and collect what it leaves."""

    def __init__(self, inner: ObjectStore, dataset: Dataset) -> None:
        super().__init__(inner)
        self._dataset = dataset
        self._done = False

    async def stream(self, key: str, byte_range: ByteRange | None = None) -> AsyncIterator[bytes]:
        if not self._done:
            self._done = True
            await self._dataset.append(other_chain().blocks[1:], expected_head=published().head, force=True)
            await collect(self._dataset, grace_s=-1)
        async for piece in self.inner.stream(key, byte_range):
            yield piece


class Source:
    """A repository of one dataset."""

    def __init__(self, entry: DatasetEntry) -> None:
        self._entry = entry

    async def iterate(self) -> AsyncIterator[DatasetEntry]:
        yield self._entry


@pytest.fixture
async def entry(tmp_path: Path) -> DatasetEntry:
    entry = await Repository.init(tmp_path / "source").create(DatasetAlias.from_text("a"), published().id)
    await fill(entry.dataset, published())
    await store_all(entry.dataset, replaced())
    busy = Busy(entry.dataset.writable_objects(), entry.dataset)
    return replace(entry, dataset=Dataset(busy, entry.dataset.refs))


async def test_a_backup_holds_the_chains_it_copies(entry: DatasetEntry, tmp_path: Path) -> None:
    copy = Repository.init(tmp_path / "copy")
    (copied,) = [each async for each in copy_repository(Source(entry), copy)]  # type: ignore[arg-type]
    assert copied.result.new_head == published().head
    assert [finding async for finding in fsck(copy)] == []
    assert await entry.dataset.head() != published().head


async def test_an_export_holds_the_chains_it_copies(entry: DatasetEntry, tmp_path: Path) -> None:
    tree = LocalStaticTree(tmp_path / "tree")
    (exported,) = [each async for each in export_static([entry], tree)]
    assert exported.result is not None
    assert exported.result.new_head == published().head
    assert [finding async for finding in fsck(Repository.open(tmp_path / "tree"))] == []


async def test_reports_are_copied_and_damaged_ones_left_out(tmp_path: Path) -> None:
    source, target = LocalObjectStore(tmp_path / "source"), MemoryObjectStore()
    (tmp_path / "source").mkdir()
    known, new, damaged = (report_key(physical_hash(each)) for each in (b"known", b"new", b"damaged"))
    for key, raw in ((known, b"known"), (new, b"new"), (damaged, b"other")):
        await source.put(key, raw)
    await target.put(known, b"known")
    assert await copy_reports(source, target) == 1
    assert set(target.objects) == {known, new}


async def backed_up(source: Repository, copy: Repository) -> Dataset:
    """The dataset in the copy."""
    (copied,) = [each async for each in copy_repository(source, copy)]
    return (await copy.find(copied.alias)).dataset


async def test_the_rules_by_which_a_head_moves_are_copied_and_hold_no_copy_back(tmp_path: Path) -> None:
    source, target = Repository.init(tmp_path / "source"), Repository.init(tmp_path / "copy")
    dataset = (await source.create(DatasetAlias.from_text("a"), published().id)).dataset
    await fill(dataset, published())
    signed = HeadSignature.make(published().id, published().blocks[-1].hash, AT, SECRET)
    await add_signature(dataset.writable_objects(), signed)
    append_only = HeadPolicy(append_only=True, signed_by=signed.key)
    await write_policy(dataset.writable_objects(), append_only)
    copy = await backed_up(source, target)
    assert (await read_policy(copy.objects), await read_signatures(copy.objects)) == (append_only, [signed])
    await write_policy(dataset.writable_objects(), HeadPolicy())
    await dataset.append(other_chain().blocks[1:], expected_head=published().head, force=True)
    no_force = HeadPolicy(allow_force=False)
    await write_policy(dataset.writable_objects(), no_force)
    copy = await backed_up(source, target)
    assert (await copy.head(), await read_policy(copy.objects)) == (other_chain().head, no_force)
    assert await backed_up(source, target)
