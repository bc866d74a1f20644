"""The gate: what people write passes, what is hostile or would not be the same tomorrow does not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from opendatafabric.errors import InvalidQuery, LimitExceeded
from opendatafabric.limits import QUERY_CHARS_MAX
from tests.pipeline.queries import RELATIONS, HostileQuery, honest_queries, hostile_queries
from tests.source_tree import text_of

pytest.importorskip("pyspark", reason="pyspark is not installed")

from pathlib import Path

from pipeline.gate import admit, dataframe
from pipeline.gate_lists import CLOCK_WORDS, FUNCTIONS, HINTS, NEED_ARGUMENTS, ORDER_DEPENDENT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


pytestmark = pytest.mark.usefixtures("relations")


@pytest.mark.parametrize("sql", honest_queries())
def test_an_honest_query_passes_and_holds(spark: SparkSession, sql: str) -> None:
    assert dataframe(spark, sql, RELATIONS).columns


@pytest.mark.parametrize("query", hostile_queries(), ids=lambda query: query.attempt)
def test_a_hostile_query_does_not_pass(spark: SparkSession, query: HostileQuery) -> None:
    with pytest.raises(InvalidQuery):
        dataframe(spark, query.sql, RELATIONS)


def test_there_are_enough_of_both() -> None:
    assert len(honest_queries()) >= 100
    assert len(hostile_queries()) >= 200


def refusal(session: SparkSession, sql: str) -> InvalidQuery:
    with pytest.raises(InvalidQuery) as raised:
        dataframe(session, sql, RELATIONS)
    return raised.value


def test_a_refusal_names_the_place_and_what_to_write_instead(spark: SparkSession) -> None:
    error = refusal(spark, "select a,\n       now() as t\nfrom input")
    assert error.message == "the query uses 'now', which is not one of the functions allowed (line 2, column 8)"
    assert error.hint == "use event_time or system_time of the records: a query gives the same on any day"


def test_a_relation_that_is_no_input_is_told_with_those_that_are(spark: SparkSession) -> None:
    error = refusal(spark, "select * from secrets")
    assert error.message == "the query reads 'secrets', which is none of its inputs (line 1, column 15)"
    assert error.expected == "input, other"


def test_a_column_that_is_not_there_is_told_in_sparks_words(spark: SparkSession) -> None:
    error = refusal(spark, "select nothing from input")
    assert error.message.startswith("the query does not hold: [UNRESOLVED_COLUMN")
    assert "select nothing" not in error.message


def test_names_of_relations_know_no_case(spark: SparkSession) -> None:
    assert dataframe(spark, "select a from INPUT", ["Input"]).columns == ["a"]


def test_parts_of_a_query_may_have_any_name(spark: SparkSession) -> None:
    assert dataframe(spark, "with `my part` as (select a from input) select * from `My Part`", RELATIONS).columns == [
        "a"
    ]


@pytest.mark.parametrize(
    "function", ["first(b)", "last(b)", "any_value(b)", "collect_list(b)", "max_by(a, b)", "mode(b)"]
)
def test_functions_of_the_order_pass_where_rows_are_kept_in_order(spark: SparkSession, function: str) -> None:
    sql = f"select {function} as x from input group by a"
    assert dataframe(spark, sql, RELATIONS, rows_in_order=True).columns == ["x"]


@pytest.mark.parametrize("function", ["first", "last", "any_value", "collect_list", "max_by"])
def test_where_they_are_not_their_place_is_told(spark: SparkSession, function: str) -> None:
    with pytest.raises(InvalidQuery, match=r"line 2, column 1\)") as refused:
        admit(spark, f"select\n{function}(b) from input group by a", RELATIONS)
    assert "depends on the order of rows" in str(refused.value.hint)


@pytest.mark.parametrize("query", ["select reflect('x', 'y')", "select now()", "select * from t", "set x = 1"])
def test_what_is_hostile_stays_so_where_rows_are_kept_in_order(spark: SparkSession, query: str) -> None:
    with pytest.raises(InvalidQuery):
        admit(spark, query, RELATIONS, rows_in_order=True)


@pytest.mark.parametrize("function", ["rand()", "uuid()", "shuffle(array(1))"])
def test_chance_is_seen_even_if_a_function_were_allowed(
    spark: SparkSession, function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Everything(frozenset[str]):
        def __contains__(self, _: object) -> bool:
            return True

    monkeypatch.setattr("pipeline.gate._IN_ANY_ORDER", SimpleNamespace(nodes=Everything(), functions=Everything()))
    with pytest.raises(InvalidQuery, match="another result each time"):
        dataframe(spark, f"select {function} from input", RELATIONS)


def test_a_text_put_together_in_a_part_never_means_the_clock(spark: SparkSession) -> None:
    frame = dataframe(spark, "with c as (select 'no' || 'w' as t) select cast(t as timestamp) from c", RELATIONS)
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        frame.collect()


def test_nothing_was_run_or_made_by_all_those_queries(spark: SparkSession) -> None:
    for query in hostile_queries():
        with pytest.raises(InvalidQuery):
            admit(spark, query.sql, RELATIONS) and dataframe(spark, query.sql, RELATIONS)
    assert {table.name for table in spark.catalog.listTables()} == set(RELATIONS)


@pytest.mark.parametrize(
    "sql",
    [
        "select " + "(" * 2_000 + "1" + ")" * 2_000,
        "select " + "+".join(["1"] * 20_000),
        "select " + " not " * 5_000 + "true",
        "select " + "array(" * 400 + "1" + ")" * 400,
        "select * from " + "(select * from " * 300 + "input" + ")" * 300,
    ],
    ids=["parentheses", "sum", "not", "arrays", "subqueries"],
)
def test_depth_ends_in_an_error_and_the_session_lives(spark: SparkSession, sql: str) -> None:
    with pytest.raises((InvalidQuery, LimitExceeded)):
        dataframe(spark, sql, RELATIONS)
    assert spark.sql("select 1").collect()


def test_a_query_has_a_greatest_length(spark: SparkSession) -> None:
    longest = "select a from input".ljust(QUERY_CHARS_MAX)
    assert admit(spark, longest, RELATIONS)
    with pytest.raises(LimitExceeded, match="too long"):
        admit(spark, longest + " ", RELATIONS)


def test_the_lists_do_not_contradict_each_other() -> None:
    assert not FUNCTIONS & ORDER_DEPENDENT
    assert not FUNCTIONS & CLOCK_WORDS
    assert FUNCTIONS & set(HINTS) == NEED_ARGUMENTS


def test_every_function_allowed_is_one_of_sparks(spark: SparkSession) -> None:
    known = {row[0] for row in spark.sql("show functions").collect()}
    assert known >= FUNCTIONS | ORDER_DEPENDENT


def test_every_function_allowed_is_documented() -> None:
    page = set(text_of(Path("docs/reference/sql.md")).split())
    assert page >= {f"`{name}`" for name in FUNCTIONS | ORDER_DEPENDENT if name.isidentifier()}
