"""Transforms of the engine ``spark`` as the reference means them: batch SQL over the new records of each input alone.

Each input is one partition in the order of its offsets, and rows come out in the order in which Spark's own plan leaves
them: that is part of the dialect, so its settings are those of the Spark that the reference runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import lit
from pyspark.sql.types import StructField

from opendatafabric.errors import MalformedData
from pipeline.carried import column_of, to_frame
from pipeline.prepared import arrow_schema
from pipeline.spark_steps import last_step
from pipeline.transform.request import GivenInput, TransformRequest

DIALECT: Final[Mapping[str, str]] = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.shuffle.partitions": "200",
}
"""The order of rows depends on these; they are what Spark 3.5 has if nobody says otherwise."""


def run_transform(session: SparkSession, request: TransformRequest) -> pa.Table:
    """The rows of the last step; errors as ``compute``."""
    with settings_inside(session, DIALECT):
        inputs = {each.alias: _records(session, each) for each in request.inputs}
        with last_step(session, inputs, request.steps, rows_in_order=True) as frame:
            return frame.toArrow()


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


def _records(session: SparkSession, given: GivenInput) -> DataFrame:
    """In one partition, in the order of the offsets."""
    empty = to_frame(session, arrow_schema(given.schema).empty_table())
    if given.interval is None:
        return empty
    try:
        found = session.read.option("mergeSchema", "true").parquet(*map(str, given.slices))
    except (PySparkException, Py4JJavaError) as error:
        told = (str(error).splitlines() or [""])[0][:500]
        raise MalformedData(f"the slices of input '{given.alias}' cannot be read: {told}") from None
    records = found.select(*(_column(found, field) for field in empty.schema))
    offset = column_of(records, given.vocabulary.offset_column)
    wanted = records.where(offset.between(lit(given.interval.start), lit(given.interval.end)))
    return wanted.coalesce(1).orderBy(offset)


def _column(found: DataFrame, field: StructField) -> Column:
    """In the type that Spark has for the declared one; what is younger than the slices is null."""
    column = column_of(found, field.name) if field.name in found.columns else lit(None)
    return column.cast(field.dataType).alias(field.name)
