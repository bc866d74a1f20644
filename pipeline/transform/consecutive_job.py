"""The job of Spark for steps that follow one another: one query over all that they read, and a slice of each step."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from opendatafabric.errors import UnsupportedOperation
from pipeline.carried import column_of
from pipeline.epochs.classify import POSITION
from pipeline.epochs.positions import Carrier, plan_of
from pipeline.gate import AnalyzedQuery
from pipeline.ingest_request import IngestAnswer
from pipeline.jobs import JobContext, JsonObject
from pipeline.spark_api import frame_of, is_older
from pipeline.spark_steps import last_step
from pipeline.transform.consecutive import ConsecutiveRequest, StepEnd, cut_at
from pipeline.transform.in_spark import DIALECT, settings_inside
from pipeline.transform.job import versions_of, write_rows
from pipeline.transform.request import GivenInput
from pipeline.transform.slice_scan import SliceScan
from pipeline.transform.stateless import is_stateless

_ONE_BY_ONE: Final = "make the steps one by one"


def consecutive_job(context: JobContext, arguments: JsonObject) -> JsonObject:
    """``make_slices`` as a job of the worker; with the ``versions`` of what made them."""
    asked = ConsecutiveRequest.from_message(arguments)
    answers = make_slices(context.session, asked)
    versions = versions_of(context.open_session, asked.together.engine)
    return {"answers": [each.to_message() for each in answers], "versions": versions}


def make_slices(session: SparkSession, asked: ConsecutiveRequest) -> list[IngestAnswer]:
    """Write the slice of each step whose rows are any.

    Raises:
        UnsupportedOperation: these steps can only be made one by one.
        InvalidQuery, …: as ``make_derived_slice``.
    """
    with closing(_rows(session, asked)) as found:
        return [write_rows(iter([rows]), each) for each, rows in zip(asked.requests(), found, strict=True)]


def _rows(session: SparkSession, asked: ConsecutiveRequest) -> Generator[pa.Table, None, None]:
    """Of each step."""
    from pipeline.partitions import partitions  # noqa: PLC0415 - what an older Spark has elsewhere

    (given,) = asked.together.inputs
    queries: list[AnalyzedQuery] = []
    with settings_inside(session, DIALECT):
        records = _numbered(session, given, asked.ends)
        leaf = plan_of(records)
        inputs = {given.alias: records.drop(POSITION)}
        with last_step(session, inputs, asked.together.steps, rows_in_order=True, check=queries.append) as frame:
            if not is_stateless(queries[-1].nodes):
                raise UnsupportedOperation("the query does not go record by record", hint=_ONE_BY_ONE)
            found = frame_of(session, _NumberCarrier(session, leaf).on_top(plan_of(frame))[0])
            yield from cut_at(partitions(found), [end.last_offset for end in asked.ends])


def _numbered(session: SparkSession, given: GivenInput, ends: Sequence[StepEnd]) -> DataFrame:
    """The records in the order of their offsets, which stand in another column as well."""
    records = None if is_older() else SliceScan(session, given).in_order()
    if records is None or not _has_own_slices(given, ends):
        raise UnsupportedOperation("the slices of the input do not count up from each to the next", hint=_ONE_BY_ONE)
    if POSITION in {name.lower() for name in records.columns}:
        raise UnsupportedOperation(f"the input has a column '{POSITION}' of its own", hint=_ONE_BY_ONE)
    offset = column_of(records, given.vocabulary.offset_column)
    return records.select("*", offset.cast("bigint").alias(POSITION))


def _has_own_slices(given: GivenInput, ends: Sequence[StepEnd]) -> bool:
    """Whether the slices of each step have just the offsets that it reads."""
    assert given.interval is not None  # something is read
    borders = pairwise([given.interval.start - 1, *(end.last_offset for end in ends)])
    counts = list(_records_of_steps(given.slices, [end.slices for end in ends]))
    return counts == [after - before for before, after in borders]


def _records_of_steps(slices: Sequence[Path], counts: Sequence[int]) -> Iterator[int]:
    for begin, end in pairwise(accumulate(counts, initial=0)):
        yield sum(pq.read_metadata(path).num_rows for path in slices[begin:end])


class _NumberCarrier(Carrier):
    """Carries the last column of ``leaf``, which is a part of the plan."""

    def __init__(self, session: SparkSession, leaf: Any) -> None:
        super().__init__(session)
        self._leaf = leaf

    def carried(self, plan: Any) -> tuple[Any, list[Any]]:
        """As of any; a part of the plan that is not of the input has no number."""
        columns = plan.output()
        if columns.nonEmpty() and columns.last().exprId().equals(self._leaf.output().last().exprId()):
            return plan, [columns.last()]
        if plan.children().isEmpty():
            raise UnsupportedOperation("the query reads its input twice, or something else", hint=_ONE_BY_ONE)
        return super().carried(plan)
