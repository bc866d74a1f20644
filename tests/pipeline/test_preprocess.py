"""Preprocess queries in both engines, and the default step."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.errors import InvalidQuery, MalformedSource, UnsupportedOperation
from opendatafabric.metadata.transform import SqlQueryStep, TransformSql
from pipeline.preprocess import run_preprocess
from pipeline.preprocess.default_step import run_default_step
from tests.pipeline.local_engine import no_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INPUT = pa.table({"a": ["x", "y", "x"], "n": pa.array([3, 2, 1], pa.uint32())})
ENGINES = ["DataFusion", "spark"]


def run(spark: SparkSession, engine: str, *queries: str) -> pa.Table:
    """All but the last query as views ``step1`` …"""
    steps = [SqlQueryStep(f"step{number}", query) for number, query in enumerate(queries[:-1], start=1)]
    return run_over([INPUT.slice(0, 2), INPUT.slice(2)], lambda: spark, engine, *steps, SqlQueryStep(query=queries[-1]))


def run_over(pieces: list[pa.Table], open_session: Any, engine: str, *steps: SqlQueryStep) -> pa.Table:
    """All of the result."""
    return pa.concat_tables(run_preprocess(open_session, iter(pieces), TransformSql(engine, queries=steps)))


def defaulted(*pieces: pa.Table, op_is_data: bool = True) -> pa.Table:
    """What the default step makes of them."""
    return pa.concat_tables(run_default_step(iter(pieces), DatasetVocabulary(), op_is_data=op_is_data))


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


class TestInPieces:
    """Queries of DataFusion see pieces of the input, or all of it: the result is the same."""

    @pytest.mark.parametrize(
        "query",
        [
            "select n, a from input where a = 'x'",
            "with t as (select n + 1 as m, a from input) select m from t",
            "select count(*) as c, max(n) as m from input",
            "select a, n, row_number() over (order by n) as r from input order by r",
            "select n from input where n = (select max(n) from input)",
            "select n from input limit 2",
            "select distinct a from input order by a",
            "select a from input union all select a from input",
            "select l.n from input l join input r on l.a = r.a and l.n < r.n order by l.n",
            "select 'a\nLimit: b' as t from input",
            "select 1 as one",
        ],
    )
    def test_pieces_do_not_change_a_result(self, query: str) -> None:
        step = SqlQueryStep(query=query)
        whole = run_over([INPUT], no_spark, "datafusion", step)
        assert run_over([INPUT.slice(row, 1) for row in range(3)], no_spark, "datafusion", step) == whole

    def test_a_query_that_goes_row_by_row_gives_a_piece_for_each(self) -> None:
        steps = (
            SqlQueryStep("s", "select n * 2 as n, a from input"),
            SqlQueryStep(query="select n from s where n > 2"),
        )
        found = run_preprocess(no_spark, iter([INPUT, INPUT]), TransformSql("datafusion", queries=steps))
        assert [piece.to_pydict() for piece in found] == [{"n": [6, 4]}] * 2

    def test_no_rows_have_the_columns_of_the_result(self) -> None:
        step = SqlQueryStep(query="select n * 2 as m from input")
        assert run_over([INPUT.slice(0, 0)], no_spark, "datafusion", step).column_names == ["m"]


class TestDefaultStep:
    def test_names_of_the_system_are_moved_out_of_the_way(self) -> None:
        records = pa.table({"offset": [1], "op": [2], "system_time": [3]})
        assert defaulted(records).column_names == ["_offset", "_op", "_system_time"]
        assert defaulted(records, op_is_data=False).column_names[1] == "op"

    @pytest.mark.parametrize("value", [86_400, "1970-01-02T00:00:00Z"])
    def test_an_event_time_in_seconds_or_text_becomes_a_time(self, value: object) -> None:
        found = defaulted(pa.table({"event_time": [value]}))
        assert found.to_pylist() == [{"event_time": datetime(1970, 1, 2, tzinfo=UTC)}]

    def test_a_text_that_is_no_time_is_named_with_its_row(self) -> None:
        good, bad = pa.table({"event_time": ["1970-01-01"] * 2}), pa.table({"event_time": ["1970-01-01", "soon"]})
        with pytest.raises(MalformedSource, match="row 4"):
            defaulted(good, bad)
