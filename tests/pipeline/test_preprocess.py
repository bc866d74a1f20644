"""Preprocess queries in both engines, and the default step."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.errors import InvalidQuery, MalformedSource, UnsupportedOperation
from opendatafabric.metadata.transform import SqlQueryStep, TransformSql
from pipeline.preprocess import run_preprocess
from pipeline.preprocess.default_step import run_default_step

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INPUT = pa.table({"a": ["x", "y", "x"], "n": pa.array([3, 2, 1], pa.uint32())})
ENGINES = ["DataFusion", "spark"]


def run(spark: SparkSession, engine: str, *queries: str) -> pa.Table:
    """All but the last query as views ``step1`` …"""
    steps = [SqlQueryStep(f"step{number}", query) for number, query in enumerate(queries[:-1], start=1)]
    return run_preprocess(lambda: spark, INPUT, TransformSql(engine, queries=(*steps, SqlQueryStep(query=queries[-1]))))


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_keep_the_order_of_the_input(spark: SparkSession, engine: str) -> None:
    found = run(spark, engine, "select n * 2 as m, a from input where n <> 2")
    assert found.to_pydict() == {"m": [6, 2], "a": ["x", "x"]}


@pytest.mark.parametrize("engine", ENGINES)
def test_steps_are_views_for_those_after_them(spark: SparkSession, engine: str) -> None:
    found = run(spark, engine, "select a, n + 1 as n from input", "select n from step1 where a = 'y'")
    assert found.to_pydict() == {"n": [3]}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("query", ["selec 1", "select nothing from input", "drop table input", "select * from other"])
def test_what_is_no_query_over_the_input_is_refused(spark: SparkSession, engine: str, query: str) -> None:
    with pytest.raises(InvalidQuery):
        run(spark, engine, query)


def test_spark_leaves_no_views_behind(spark: SparkSession) -> None:
    run(spark, "spark", "select a from input", "select a from step1")
    assert not spark.catalog.tableExists("input")
    assert not spark.catalog.tableExists("step1")


def test_other_engines_are_refused_by_name(spark: SparkSession) -> None:
    with pytest.raises(UnsupportedOperation, match="'flink'"):
        run(spark, "flink", "select 1")


class TestDefaultStep:
    def test_names_of_the_system_are_moved_out_of_the_way(self) -> None:
        records = pa.table({"offset": [1], "op": [2], "system_time": [3]})
        assert run_default_step(records, DatasetVocabulary(), op_is_data=True).column_names == [
            "_offset",
            "_op",
            "_system_time",
        ]
        assert run_default_step(records, DatasetVocabulary(), op_is_data=False).column_names[1] == "op"

    @pytest.mark.parametrize("value", [86_400, "1970-01-02T00:00:00Z"])
    def test_an_event_time_in_seconds_or_text_becomes_a_time(self, value: object) -> None:
        found = run_default_step(pa.table({"event_time": [value]}), DatasetVocabulary(), op_is_data=True)
        assert found.to_pylist() == [{"event_time": datetime(1970, 1, 2, tzinfo=UTC)}]

    def test_a_text_that_is_no_time_is_named_with_its_row(self) -> None:
        records = pa.table({"event_time": ["1970-01-01", "soon"]})
        with pytest.raises(MalformedSource, match="row 2"):
            run_default_step(records, DatasetVocabulary(), op_is_data=True)
