"""Transforms of the engine ``spark`` as the reference means them: batch SQL over the new records of each input alone.

Each input is one partition in the order of its offsets, and rows come out in the order in which Spark's own plan leaves
them: that is part of the dialect, so its settings are those of the Spark that the reference runs. Where queries go
record by record the input is divided, in the same order, and what comes out is the same.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import pyarrow as pa
from pyspark.sql import SparkSession

from pipeline.gate import AnalyzedQuery
from pipeline.spark_api import arrow_of, is_older
from pipeline.spark_steps import last_step
from pipeline.transform.request import TransformRequest
from pipeline.transform.slice_scan import SliceScan
from pipeline.transform.stateless import is_stateless

DIALECT: Final[Mapping[str, str]] = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.shuffle.partitions": "200",
}
"""The order of rows depends on these; they are what Spark 3.5 has if nobody says otherwise."""


def run_transform(session: SparkSession, request: TransformRequest) -> Generator[pa.Table, None, None]:
    """The rows of the last step, piece by piece; errors as ``compute``."""
    with settings_inside(session, DIALECT):
        scans = {each.alias: SliceScan(session, each) for each in request.inputs}
        if is_older() or not (yield from _record_by_record(session, request, scans)):
            yield _together(session, request, scans)


def _record_by_record(
    session: SparkSession, request: TransformRequest, scans: Mapping[str, SliceScan]
) -> Generator[pa.Table, None, bool]:
    """Whether the queries and the slices allow it, and if so the rows."""
    from pipeline.partitions import partitions  # noqa: PLC0415 - what an older Spark has elsewhere

    found = {alias: scan.in_order() for alias, scan in scans.items()}
    inputs = {alias: records for alias, records in found.items() if records is not None}
    if len(inputs) < len(scans):
        return False
    queries: list[AnalyzedQuery] = []
    with last_step(session, inputs, request.steps, rows_in_order=True, check=queries.append) as frame:
        if not is_stateless(queries[-1].nodes):
            return False
        yield from partitions(frame)
    return True


def _together(session: SparkSession, request: TransformRequest, scans: Mapping[str, SliceScan]) -> pa.Table:
    """The rows of queries that see all records at once."""
    inputs = {alias: scan.in_one_partition() for alias, scan in scans.items()}
    with last_step(session, inputs, request.steps, rows_in_order=True) as frame:
        return arrow_of(frame)


@contextmanager
def settings_inside(session: SparkSession, wanted: Mapping[str, str]) -> Iterator[None]:
    """Inside, the session has them: there is one for all jobs, which come one after another."""
    before = {name: str(session.conf.get(name)) for name in wanted}
    try:
        for name, value in wanted.items():
            session.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            session.conf.set(name, value)
