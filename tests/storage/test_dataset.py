"""Datasets over memory and over folders keep the contract of datasets."""

from __future__ import annotations

from pathlib import Path

import pytest

from opendatafabric.errors import UnsupportedOperation
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
