"""A store that counts and times what it is asked. The labels (name of the store, operation, how it ended) come out of
closed sets, never out of a key.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Histogram

from opendatafabric.errors import OdfError
from opendatafabric.limits import BLOCK_BYTES_MAX
from opendatafabric.multihash import Multihash
from storage.protocols import ObjectStore, RefStore
from storage.values import ByteRange, Followed, ObjectInfo, Quarantined, WriteMode
from storage.wrappers.passing import PassingObjectStore, PassingRefStore


class StoreMetrics:
    """The metrics of the stores of one process; ``now`` in seconds of a clock that never goes back."""

    def __init__(self, registry: CollectorRegistry, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._operations = Counter(
            "odf_store_operations",
            "What stores were asked, by how it ended: ok or the code of an error.",
            ("store", "operation", "outcome"),
            registry=registry,
        )
        self._seconds = Histogram(
            "odf_store_operation_seconds",
            "How long stores took.",
            ("store", "operation"),
            registry=registry,
            buckets=(0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60),
        )
        self._bytes = Counter(
            "odf_store_bytes", "Bytes read from and written to stores.", ("store", "direction"), registry=registry
        )

    @contextmanager
    def operation(self, store: str, operation: str) -> Iterator[None]:
        """Count and time what happens inside."""
        began, outcome = self._now(), "ok"
        try:
            yield
        except OdfError as error:
            outcome = error.code
            raise
        except BaseException:
            outcome = "broken-off"
            raise
        finally:
            self._operations.labels(store, operation, outcome).inc()
            self._seconds.labels(store, operation).observe(self._now() - began)

    def moved(self, store: str, direction: str, size: int) -> None:
        """Bytes went ``in`` or ``out``."""
        self._bytes.labels(store, direction).inc(size)


class MeasuredObjectStore(PassingObjectStore):
    """``inner``, measured under ``name``. Files that the kernel sends are not seen."""

    def __init__(self, inner: ObjectStore, metrics: StoreMetrics, name: str) -> None:
        super().__init__(inner)
        self._metrics = metrics
        self._name = name

    async def stat(self, key: str) -> ObjectInfo:
        with self._metrics.operation(self._name, "stat"):
            return await self.inner.stat(key)

    async def read(self, key: str, *, size_max: int = BLOCK_BYTES_MAX) -> bytes:
        with self._metrics.operation(self._name, "read"):
            data = await self.inner.read(key, size_max=size_max)
        self._metrics.moved(self._name, "out", len(data))
        return data

    async def stream(self, key: str, byte_range: ByteRange | None = None) -> AsyncIterator[bytes]:
        with self._metrics.operation(self._name, "stream"):
            async for piece in self._counted(self.inner.stream(key, byte_range), "out"):
                yield piece

    async def follow(self, key: str, next_key: Callable[[bytes], str | None], *, count_max: int) -> Followed:
        with self._metrics.operation(self._name, "follow"):
            found = await self.inner.follow(key, next_key, count_max=count_max)
        self._metrics.moved(self._name, "out", sum(len(data) for _, data in found))
        return found

    async def list(self, prefix: str = "") -> AsyncIterator[ObjectInfo]:
        with self._metrics.operation(self._name, "list"):
            async for info in self.inner.list(prefix):
                yield info

    async def put(self, key: str, data: bytes, mode: WriteMode = WriteMode.KEEP) -> None:
        with self._metrics.operation(self._name, "put"):
            await self.inner.put(key, data, mode)
        self._metrics.moved(self._name, "in", len(data))

    async def put_many(self, objects: Mapping[str, bytes]) -> None:
        with self._metrics.operation(self._name, "put_many"):
            await self.inner.put_many(objects)
        self._metrics.moved(self._name, "in", sum(map(len, objects.values())))

    async def quarantine(self, pieces: AsyncIterator[bytes], *, size_max: int) -> Quarantined:
        with self._metrics.operation(self._name, "quarantine"):
            return await self.inner.quarantine(self._counted(pieces, "in"), size_max=size_max)

    async def publish(self, quarantined: Quarantined, key: str) -> None:
        with self._metrics.operation(self._name, "publish"):
            await self.inner.publish(quarantined, key)

    async def discard(self, quarantined: Quarantined) -> None:
        with self._metrics.operation(self._name, "discard"):
            await self.inner.discard(quarantined)

    async def delete(self, key: str) -> None:
        with self._metrics.operation(self._name, "delete"):
            await self.inner.delete(key)

    async def _counted(self, pieces: AsyncIterator[bytes], direction: str) -> AsyncIterator[bytes]:
        async for piece in pieces:
            self._metrics.moved(self._name, direction, len(piece))
            yield piece


class MeasuredRefStore(PassingRefStore):
    """``inner``, measured under ``name``."""

    def __init__(self, inner: RefStore, metrics: StoreMetrics, name: str) -> None:
        super().__init__(inner)
        self._metrics = metrics
        self._name = name

    async def read(self, name: str) -> Multihash | None:
        with self._metrics.operation(self._name, "read_ref"):
            return await self.inner.read(name)

    async def compare_and_swap(self, name: str, *, expected: Multihash | None, new: Multihash | None) -> None:
        with self._metrics.operation(self._name, "compare_and_swap"):
            await self.inner.compare_and_swap(name, expected=expected, new=new)

    async def list(self) -> dict[str, Multihash]:
        with self._metrics.operation(self._name, "list_refs"):
            return await self.inner.list()
