"""Queries as text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.sql_text import Dialect, depth_of, first_unclear_time, names_the_clock, place_of, tokens


def test_strings_and_comments_are_in_one_piece() -> None:
    pieces = [token.text for token in tokens("select 'it''s', \"a\\\"b\", `c``d` -- now()\n/* x */ from t.u")]
    assert pieces == ["select", "'it''s'", ",", '"a\\"b"', ",", "`c``d`", "from", "t", ".", "u"]


def test_by_the_standard_double_quotes_are_names_and_backslashes_nothing() -> None:
    pieces = list(tokens('\'a\\\' "b""c" `d`', Dialect.STANDARD))
    assert [(piece.kind.value, piece.text) for piece in pieces] == [
        ("string", "'a\\'"),
        ("quoted", '"b""c"'),
        ("quoted", "`d`"),
    ]


@given(st.text(), st.sampled_from(Dialect))
def test_any_text_has_tokens(sql: str, dialect: Dialect) -> None:
    assert all(sql[token.start : token.start + len(token.text)] == token.text for token in tokens(sql, dialect))


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize("piece", ["/* ", "/*", "\\'", "'\\\\'", '"\\', "`a", "r'", "--", "'", "(("])
def test_hostile_text_takes_no_longer_than_other(piece: str, dialect: Dialect) -> None:
    sql = "x " + piece * 30_000
    begun = time.process_time()
    assert sum(1 for _ in tokens(sql, dialect)) <= len(sql)
    assert time.process_time() - begun < 2


@pytest.mark.parametrize("sql", ["'it", '"it', "`it", "/* it", "'it\\"])
def test_what_does_not_end_goes_on_to_the_end(sql: str) -> None:
    assert [token.text for token in tokens(f"a {sql}")] in (["a", sql], ["a"])


def test_depth_is_that_of_the_parentheses_outside_of_strings_and_comments() -> None:
    assert [depth_of(sql) for sql in ("", "select 1", "(a) + ((b))", "'((' -- (((", ")))(")] == [0, 0, 2, 0, 0]


def test_a_place_is_counted_from_one_and_not_inside_strings() -> None:
    assert place_of("select 'rand',\n  rand() from t", "RAND") == " (line 2, column 3)"
    assert place_of("select `rand`() from t", "rand") == " (line 1, column 8)"
    assert place_of("select 'rand' -- rand", "rand") == ""


@pytest.mark.parametrize(
    "sql",
    [
        "timestamp'now'",
        "DATE ' today '",
        "timestamp 'no' 'w'",
        "timestamp_ntz/**/'now'",
        "date r'today'",
        "date '\\u0031'",
    ],
)
def test_a_literal_that_is_no_plain_time_is_found(sql: str) -> None:
    assert first_unclear_time(f"select {sql} from t") is not None


@pytest.mark.parametrize("sql", ["timestamp'2020-01-01 00:00Z'", "date '-0001-01-01'", "a.date, 'now'", "'now' date"])
def test_plain_times_and_columns_of_that_name_are_none(sql: str) -> None:
    assert first_unclear_time(f"select {sql} from t") is None


@pytest.mark.parametrize(
    "text", ["now", " Now\t", "today UTC", "tomorrowZ", "yesterday+01:00", "now Asia/Tokyo", "\x00now"]
)
def test_texts_that_move_with_the_clock(text: str) -> None:
    assert names_the_clock(text)


@pytest.mark.parametrize("text", ["", "nowhere", "it is now", "today I went home", "know", "2020-01-01", "epoch"])
def test_texts_that_stay(text: str) -> None:
    assert not names_the_clock(text)
