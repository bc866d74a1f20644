"""An input of numbers in a file, and queries over it in one step or in several."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from opendatafabric.data.arrow_schema import arrow_schema_to_odf
from opendatafabric.data.slice_format import TIMESTAMP, system_fields
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.did import new_dataset_id
from opendatafabric.metadata.events import SetDataSchema, SetTransform
from opendatafabric.metadata.slices import OffsetInterval
from opendatafabric.metadata.transform import SqlQueryStep, TransformInput, TransformSql
from pipeline.slices import write_slice
from pipeline.transform.job import compute
from pipeline.transform.request import GivenInput, TransformRequest
from tests.pipeline.datasets import day

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
SYSTEM = pa.schema(system_fields()).names


class Written:
    """Records that are on disk already."""

    def __init__(self, folder: Path, records: pa.Table) -> None:
        self._slice, self._count = folder / "input", len(records)
        self._slice.unlink(missing_ok=True)
        self._schema = pa.schema([*system_fields(), *(field for field in records.schema if field.name not in SYSTEM)])
        write_slice(records, self._schema, self._slice)

    @staticmethod
    def table(records: list[tuple[int, int]]) -> pa.Table:
        """Of operations and numbers."""
        times = pa.array([0] * len(records), TIMESTAMP)
        return pa.table({
            "offset": pa.array(range(len(records)), pa.int64()),
            "op": pa.array([op for op, _ in records], pa.int32()),
            "system_time": times,
            "event_time": times,
            "n": pa.array([number for _, number in records], pa.int64()),
        })  # fmt: skip

    def run(self, spark: SparkSession, query: str, cuts: list[int]) -> pa.Table:
        """What the query gives in steps that end before those offsets, and one for the rest."""
        ends = [0, *cuts, self._count]
        steps = [self._request(query, start, end) for start, end in pairwise(ends)]
        return pa.concat_tables([piece for step in steps for piece in compute(lambda: spark, step)]).combine_chunks()

    def _request(self, query: str, start: int, end: int) -> TransformRequest:
        sql = TransformSql("spark", "odf-epoch/1", queries=(SqlQueryStep(query=query),))
        inputs = (TransformInput(new_dataset_id(bytes(32)), "input"),)
        interval = OffsetInterval(start, end - 1) if end > start else None
        vocabulary = DatasetVocabulary()
        given = GivenInput(
            "input", SetDataSchema(schema=arrow_schema_to_odf(self._schema)), vocabulary, (self._slice,), interval
        )
        return TransformRequest(SetTransform(inputs, sql), (given,), Path("made"), day(9), vocabulary, None, 0)
