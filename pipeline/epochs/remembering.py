"""Queries that look at more than one record: what was kept of earlier steps and what is new, through an operator.

An operator gives rows and says what it still needs (``records.py``); that is the checkpoint of the step. Which operator
a query asks for is read from its plan. To add one: read its shape beside ``window_shape``, and name it below.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
from pyspark.sql import SparkSession

from opendatafabric.errors import UnsupportedOperation
from pipeline.epochs.aggregates import check_aggregates
from pipeline.epochs.checkpoint import read_checkpoint, write_checkpoint
from pipeline.epochs.grouping import aggregates_of
from pipeline.epochs.positions import nodes_of
from pipeline.epochs.query import EpochQuery
from pipeline.epochs.records import EpochStep, TaggedRecords, in_milliseconds, tagged_records
from pipeline.epochs.window_query import run_windows
from pipeline.epochs.window_shape import WindowShape, check_result, window_shape
from pipeline.gate import AnalyzedQuery, Node
from pipeline.sql_text import place_of
from pipeline.transform.request import Memory, TransformRequest

_WORDS: Final = ("group",)
"""Without any of them a query looks at one record at a time, or is refused."""


def may_remember(request: TransformRequest) -> bool:
    """Whether a query may have to remember records; its plan says whether it has to."""
    return any(place_of(step.query, word) for step in request.steps for word in _WORDS)


def run_remembering(session: SparkSession, request: TransformRequest) -> pa.Table | None:
    """The rows of a step, what has to be remembered being written; ``None`` if the query remembers nothing.

    Raises:
        InvalidQuery, LimitExceeded, IncompatibleSchema, MalformedData, UnsupportedOperation: as ``run_transform``.
    """
    query = EpochQuery(session, request)
    shape = _shape(query)
    if shape is None:
        return None
    if request.memory is None:
        raise UnsupportedOperation(
            "the query has to remember records, and the blocks that brought them are not known here",
            hint="run it by odf pull: the engine contract says nothing of blocks",
        )
    result = run_windows(shape, _step(request, request.memory), query)
    write_checkpoint(request.memory.made, result.kept)
    return result.rows


def _shape(query: EpochQuery) -> WindowShape | None:
    """Of the last step; all of them are looked at."""
    event_times = {each.alias: each.vocabulary.event_time_column for each in query.request.inputs}
    found: list[tuple[WindowShape | None, list[Node]]] = []

    def check(step: AnalyzedQuery) -> None:
        nodes = nodes_of(step)
        found.append((window_shape(step.sql, nodes, event_times), nodes))
        if found[-1][0] is not None:
            check_aggregates(step.sql, aggregates_of(step.frame, nodes))

    with query.over_nothing(check):
        shape, nodes = found[-1]
    if shape is not None:
        check_result(shape, nodes, query.request.vocabulary.event_time_column)
    return shape


def _step(request: TransformRequest, memory: Memory) -> EpochStep:
    before = in_milliseconds(memory.watermark_before)
    new = tuple(tagged_records(each, before) for each in request.inputs)
    return EpochStep(_followed(new, memory), before, in_milliseconds(memory.watermark))


def _followed(new: tuple[TaggedRecords, ...], memory: Memory) -> tuple[TaggedRecords, ...]:
    """The new records behind those that were kept."""
    if memory.checkpoint is None:
        return new
    kept = read_checkpoint(memory.checkpoint, [each.none() for each in new])
    return tuple(one.followed_by(other) for one, other in zip(kept, new, strict=True))
