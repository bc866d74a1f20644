"""The memory stores keep the contracts of stores."""

from __future__ import annotations

import pytest

from storage.memory import MemoryDerivedStore, MemoryObjectStore, MemoryRefStore
from storage.protocols import ObjectReader
from tests.suites.derived_store import DerivedStoreSuite
from tests.suites.object_store import ObjectStoreSuite
from tests.suites.ref_store import RefStoreSuite


class TestMemoryObjects(ObjectStoreSuite):
    @pytest.fixture
    def store(self) -> MemoryObjectStore:
        return MemoryObjectStore()

    def plant(self, store: ObjectReader, key: str, data: bytes) -> None:
        assert isinstance(store, MemoryObjectStore)
        store.objects[key] = data


class TestMemoryRefs(RefStoreSuite):
    @pytest.fixture
    def refs(self) -> MemoryRefStore:
        return MemoryRefStore()


class TestMemoryDerived(DerivedStoreSuite):
    def make(self, bytes_max: int) -> MemoryDerivedStore:
        return MemoryDerivedStore(bytes_max=bytes_max)
