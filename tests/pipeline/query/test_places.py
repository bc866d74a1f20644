"""What the engine says, as errors that name the place."""

from __future__ import annotations

import pytest

from opendatafabric.errors import InvalidQuery, LimitExceeded
from pipeline.query.places import error_of_query


@pytest.mark.parametrize(
    ("sql", "told", "message"),
    [
        (
            "selec 1",
            'SQL error: ParserError("Expected: an SQL statement, found: selec at Line: 1, Column: 1")',
            "the query is no SQL: Expected: an SQL statement, found: selec (line 1, column 1)",
        ),
        (
            "select 1 +",
            'SQL error: ParserError("Expected: an expression, found: EOF")',
            "the query is no SQL: Expected: an expression, found: EOF (at its end)",
        ),
        (
            'select\n "Foo" from x',
            'Schema error: No field named "Foo". Valid fields are "x/y".offset, "x/y".op.',
            'the query does not hold: No field named "Foo" (line 2, column 2)',
        ),
        (
            "select x.foo from x",
            "Schema error: No field named x.foo.",
            "the query does not hold: No field named x.foo (line 1, column 10)",
        ),
        (
            "select 1 from nothere",
            "Error during planning: table 'datafusion.public.nothere' not found",
            "the query does not hold: table 'datafusion.public.nothere' not found (line 1, column 15)",
        ),
        (
            "select 'nofun', nofun(1)",
            "Error during planning: Invalid function 'nofun'.\nDid you mean 'round'?",
            "the query does not hold: Invalid function 'nofun' (line 1, column 17)",
        ),
        (
            " drop table x",
            "Error during planning: DDL not supported: DropTable",
            "queries only read: DropTable is not allowed (line 1, column 2)",
        ),
        (
            "select cast('a' as int)",
            "DataFusion error: Optimizer rule 'simplify_expressions' failed\ncaused by\nArrow error: Cast error: bad",
            "the query does not hold: Cast error: bad",
        ),
        (
            "select 1/0",
            "DataFusion error: Arrow error: Divide by zero error",
            "the query does not hold: Divide by zero error",
        ),
        ("x", "", "the query does not hold: the engine says nothing"),
    ],
)
def test_an_error_says_what_and_where(sql: str, told: str, message: str) -> None:
    error = error_of_query(sql, told)
    assert isinstance(error, InvalidQuery)
    assert error.message == message


def test_an_error_of_our_own_function_is_told_without_its_wrapping() -> None:
    told = "Execution error: PyErr { type: <class 'x'>, value: InvalidQuery('to_table takes a name'), traceback: x }"
    error = error_of_query("select * from to_table(x)", told)
    assert error.message == "the query does not hold: to_table takes a name (line 1, column 15)"


def test_too_much_memory_is_a_limit() -> None:
    error = error_of_query("select 1", "DataFusion error: Resources exhausted: Failed to allocate additional 14.0 MB")
    assert isinstance(error, LimitExceeded)


def test_a_long_text_is_cut() -> None:
    assert len(error_of_query("select 1", "x" * 100_000).message) < 1_100
