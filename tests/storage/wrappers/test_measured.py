"""Operations, their ends, their time and their bytes are counted; no label comes from a key."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from opendatafabric.errors import ObjectNotFound, RefConflict
from opendatafabric.multihash import physical_hash
from storage.memory import MemoryObjectStore, MemoryRefStore
from storage.wrappers.measured import MeasuredObjectStore, MeasuredRefStore, StoreMetrics
from tests.storage.wrappers.inner import Clock
from tests.suites.object_store import key_of, keys_in, pieces_of, read_all


class Measured:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.clock = Clock()
        metrics = StoreMetrics(self.registry, now=self.clock)
        self.objects = MeasuredObjectStore(MemoryObjectStore(), metrics, "local")
        self.refs = MeasuredRefStore(MemoryRefStore(), metrics, "local")

    def count(self, operation: str, outcome: str = "ok") -> float:
        labels = {"store": "local", "operation": operation, "outcome": outcome}
        return self.registry.get_sample_value("odf_store_operations_total", labels) or 0

    def bytes(self, direction: str) -> float:
        labels = {"store": "local", "direction": direction}
        return self.registry.get_sample_value("odf_store_bytes_total", labels) or 0


@pytest.fixture
def measured() -> Measured:
    return Measured()


async def test_operations_are_counted_by_how_they_ended(measured: Measured) -> None:
    await measured.objects.put(key_of(b"x"), b"x")
    await measured.objects.read(key_of(b"x"))
    for _ in range(2):
        with pytest.raises(ObjectNotFound):
            await measured.objects.read(key_of(b"absent"))
    assert (measured.count("put"), measured.count("read"), measured.count("read", "object-not-found")) == (1, 1, 2)


async def test_bytes_are_counted_in_both_directions(measured: Measured) -> None:
    store, key = measured.objects, key_of(b"12345")
    await store.publish(await store.quarantine(pieces_of(b"123", b"45"), size_max=9), key)
    await store.put_many({key: b"12345"})
    await read_all(store, key)
    await store.follow(key, lambda _: None, count_max=1)
    assert (measured.bytes("in"), measured.bytes("out")) == (10, 10)


async def test_time_is_measured_while_a_stream_arrives(measured: Measured) -> None:
    async def slow() -> object:
        measured.clock.now += 3
        yield b"x"

    await measured.objects.quarantine(slow(), size_max=9)  # type: ignore[arg-type]
    labels = {"store": "local", "operation": "quarantine"}
    assert measured.registry.get_sample_value("odf_store_operation_seconds_sum", labels) == 3


async def test_a_reader_that_leaves_is_counted_as_such(measured: Measured) -> None:
    await measured.objects.put(key_of(b"x"), b"x")
    stream = measured.objects.stream(key_of(b"x"))
    async for _ in stream:
        break
    await stream.aclose()  # type: ignore[attr-defined]
    assert measured.count("stream", "broken-off") == 1


async def test_heads_are_counted_too(measured: Measured) -> None:
    head = physical_hash(b"a")
    await measured.refs.compare_and_swap("head", expected=None, new=head)
    with pytest.raises(RefConflict):
        await measured.refs.compare_and_swap("head", expected=None, new=head)
    assert await measured.refs.read("head") == head
    assert await measured.refs.list() == {"head": head}
    assert (measured.count("compare_and_swap"), measured.count("compare_and_swap", "ref-conflict")) == (1, 1)


async def test_the_number_of_series_does_not_grow_with_the_objects(measured: Measured) -> None:
    async def store(number: int) -> None:
        await measured.objects.put(key_of(b"%d" % number), b"%d" % number)
        await measured.objects.stat(key_of(b"%d" % number))
        await measured.objects.delete(key_of(b"%d" % number))
        assert await keys_in(measured.objects) == set()

    await store(0)
    series = sum(len(metric.samples) for metric in measured.registry.collect())
    for number in range(1, 20):
        await store(number)
    assert sum(len(metric.samples) for metric in measured.registry.collect()) == series
