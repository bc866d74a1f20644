"""The rows of a frame as Arrow, partition by partition in their order, a few of them computed ahead.

``toArrow`` has all rows in memory before the first is seen; here there are those of as many partitions as cores, and
one. For frames whose plan shuffles nothing: partitions are computed each by itself.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, BinaryIO, Final

import pyarrow as pa
from pyspark.serializers import Serializer
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.util import _load_from_socket

_LENGTH: Final = struct.Struct("!i")


def partitions(frame: DataFrame) -> Iterator[pa.Table]:
    """At least one piece; errors are those of ``toArrow``."""
    found = _Partitions(frame)
    if found.count <= 1:
        yield frame.toArrow()
        return
    yield found.schema.empty_table()
    cores = frame.sparkSession.sparkContext.defaultParallelism
    settings = _settings_of(frame)
    with _threads(cores) as threads:
        for computing in _ahead(lambda index: threads.submit(found.compute, index, settings), found.count, cores):
            yield computing.result()


@contextmanager
def _threads(count: int) -> Iterator[ThreadPoolExecutor]:
    """What has not begun in the end is left."""
    threads = ThreadPoolExecutor(count)
    try:
        yield threads
    finally:
        threads.shutdown(cancel_futures=True)


def _ahead(begin: Callable[[int], Future[pa.Table]], count: int, ahead: int) -> Iterator[Future[pa.Table]]:
    """The partitions in their order; so many behind the one that is looked at are on their way."""
    waiting: deque[Future[pa.Table]] = deque()
    for index in range(count):
        waiting.append(begin(index))
        if len(waiting) > ahead:
            yield waiting.popleft()
    yield from waiting


class _Partitions:
    """``count`` partitions of rows in ``schema``, each a job of its own in Spark."""

    def __init__(self, frame: DataFrame) -> None:
        self.schema: pa.Schema = to_arrow_schema(
            frame.schema, error_on_duplicated_field_names_in_struct=True, timezone="UTC"
        )
        context: Any = frame.sparkSession.sparkContext
        self._context, self._java = context._jsc.sc(), context._jvm
        batches = frame._jdf.toArrowBatchRdd()
        self.count: int = batches.getNumPartitions()
        self._batches = batches.toJavaRDD()

    def compute(self, index: int, settings: Any) -> pa.Table:
        """The rows of that partition."""
        self._context.setLocalProperties(settings)
        wanted = self._java.java.util.ArrayList()
        wanted.add(index)
        served = self._java.PythonRDD.runJob(self._context, self._batches, wanted)
        with _load_from_socket(served, _Pieces()) as pieces:
            batches = [pa.ipc.read_record_batch(pa.py_buffer(each), self.schema) for each in pieces]
        return pa.Table.from_batches(batches, self.schema)


def _settings_of(frame: DataFrame) -> Any:
    """Of the session, as tasks have them that belong to a query."""
    java: Any = frame.sparkSession.sparkContext._jvm
    settings = java.java.util.Properties()
    known = frame.sparkSession._jsparkSession.sessionState().conf().getAllConfs()
    settings.putAll(java.scala.jdk.javaapi.CollectionConverters.asJava(known))
    return settings


class _Pieces(Serializer):
    """Arrays of bytes as Spark serves them: each behind its length, until the stream ends."""

    def load_stream(self, stream: BinaryIO) -> Iterator[bytes]:
        """One after another."""
        while len(head := stream.read(_LENGTH.size)) == _LENGTH.size:
            (length,) = _LENGTH.unpack(head)
            if length < 0:
                return
            yield stream.read(length)
