"""Every wrapper, around every store that writes, keeps the contracts of objects, refs and datasets; so does a pile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from storage.dataset import Dataset
from storage.memory import MemoryObjectStore
from storage.protocols import ObjectReader, ObjectStore, RefStore
from storage.wrappers.caching import CachingObjectStore, ObjectCache
from storage.wrappers.measured import MeasuredObjectStore, MeasuredRefStore, StoreMetrics
from storage.wrappers.retrying import RetryingObjectStore, RetryingRefStore
from storage.wrappers.throttled import Throttle, ThrottledObjectStore
from tests.faults.faulty_stores import Faults, FaultyObjectStore, FaultyRefStore
from tests.storage.wrappers.inner import INNER, Clock, plant_inside
from tests.suites.dataset import DatasetSuite
from tests.suites.object_store import ObjectStoreSuite
from tests.suites.ref_store import RefStoreSuite


def throttled(inner: ObjectStore) -> ObjectStore:
    clock = Clock()
    return ThrottledObjectStore(inner, Throttle(1e6, now=clock, sleep=clock.sleep))


def measured(inner: ObjectStore) -> ObjectStore:
    return MeasuredObjectStore(inner, StoreMetrics(CollectorRegistry()), "inner")


def caching(inner: ObjectStore) -> ObjectStore:
    return CachingObjectStore(inner, ObjectCache(MemoryObjectStore(), bytes_max=2_000_000))


def faulty(inner: ObjectStore) -> ObjectStore:
    return FaultyObjectStore(inner, Faults())


WRAPPERS: dict[str, Callable[[ObjectStore], ObjectStore]] = {
    "caching": caching,
    "retrying": RetryingObjectStore,
    "measured": measured,
    "throttled": throttled,
    "faulty": faulty,
    "all": lambda inner: caching(measured(RetryingObjectStore(throttled(faulty(inner))))),
}
REF_WRAPPERS: dict[str, Callable[[RefStore], RefStore]] = {
    "retrying": RetryingRefStore,
    "measured": lambda inner: MeasuredRefStore(inner, StoreMetrics(CollectorRegistry()), "inner"),
    "faulty": lambda inner: FaultyRefStore(inner, Faults()),
}


@pytest.fixture(params=["memory", pytest.param("local", marks=pytest.mark.slow)])
def inner(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[ObjectStore, RefStore]:
    return INNER[request.param](tmp_path)


@pytest.fixture(params=WRAPPERS)
def store(request: pytest.FixtureRequest, inner: tuple[ObjectStore, RefStore]) -> ObjectStore:
    return WRAPPERS[request.param](inner[0])


class TestWrappedObjects(ObjectStoreSuite):
    def plant(self, store: ObjectReader, key: str, data: bytes) -> None:
        plant_inside(store, key, data)


class TestWrappedRefs(RefStoreSuite):
    @pytest.fixture(params=REF_WRAPPERS)
    def refs(self, request: pytest.FixtureRequest, inner: tuple[ObjectStore, RefStore]) -> RefStore:
        return REF_WRAPPERS[request.param](inner[1])


class TestWrappedDataset(DatasetSuite):
    @pytest.fixture
    def dataset(self, store: ObjectStore, inner: tuple[ObjectStore, RefStore]) -> Dataset:
        return Dataset(store, RetryingRefStore(inner[1]))
