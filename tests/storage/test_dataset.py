"""Datasets over memory and over folders keep the contract of datasets."""

from __future__ import annotations

from pathlib import Path

import pytest

from opendatafabric.errors import RefConflict, UnsupportedOperation
from opendatafabric.layout import block_key
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore
from storage.memory import MemoryObjectStore, MemoryRefStore
from storage.values import Capabilities
from tests.storage.chains import chain
from tests.suites.dataset import DatasetSuite


class TestMemoryDataset(DatasetSuite):
    @pytest.fixture
    def dataset(self) -> Dataset:
        return Dataset(MemoryObjectStore(), MemoryRefStore())


class TestLocalDataset(DatasetSuite):
    @pytest.fixture
    def dataset(self, tmp_path: Path) -> Dataset:
        return Dataset(LocalObjectStore(tmp_path), LocalRefStore(tmp_path))


async def test_a_store_that_cannot_write_is_not_appended_to() -> None:
    objects = MemoryObjectStore()
    objects.capabilities = Capabilities(writable=False, listable=True)
    with pytest.raises(UnsupportedOperation):
        await Dataset(objects, MemoryRefStore()).append(chain().blocks, expected_head=None)


class OvertakenRefs(MemoryRefStore):
    """Refs that another process moves, and whose old chain a collection takes, right after they were first read."""

    def __init__(self, objects: MemoryObjectStore, moved_to: Multihash) -> None:
        super().__init__()
        self._objects, self._moved_to = objects, moved_to

    async def read(self, name: str) -> Multihash | None:
        found = await super().read(name)
        if found is not None and found != self._moved_to:
            await self.compare_and_swap(name, expected=found, new=self._moved_to)
            await self._objects.delete(block_key(found))
        return found


async def test_whose_base_was_replaced_and_collected_meanwhile_hears_of_the_new_head() -> None:
    old, new, other = chain(["a"]), chain(["b"]), chain(["c"])
    objects = MemoryObjectStore()
    await Dataset(objects, MemoryRefStore()).append(old.blocks, expected_head=None)
    refs = OvertakenRefs(objects, new.head)
    await refs.compare_and_swap("head", expected=None, new=old.head)
    with pytest.raises(RefConflict) as raised:
        await Dataset(objects, refs).append(other.blocks, expected_head=old.head, force=True)
    assert raised.value.found == str(new.head)
