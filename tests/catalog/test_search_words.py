"""What somebody types, as a question to the index of words."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.search_words import NOTHING, question_of
from opendatafabric.index_limits import SEARCH_WORDS_MAX


@pytest.mark.parametrize(
    ("typed", "question"),
    [
        ("", None),
        (" \t\n", None),
        ("rain", '"rain" *'),
        ("rain  kyiv", '"rain" AND "kyiv" *'),
        ("us.noaa.seattle-weather", '"us noaa seattle weather" *'),
        ("% rain", '"rain" *'),
        ("%", NOTHING),
        ('"rain" OR', '"rain" AND "OR" *'),
        ("ra\0in", '"ra in" *'),
        ("天気", '"天気" *'),
    ],
)
def test_questions(typed: str, question: str | None) -> None:
    assert question_of(typed) == question


def test_words_beyond_the_last_one_that_is_looked_at_do_not_count() -> None:
    question = question_of(" ".join(str(number) for number in range(SEARCH_WORDS_MAX + 5)))
    assert question is not None
    assert question.count(" AND ") == SEARCH_WORDS_MAX - 1


@pytest.fixture(scope="module")
def index() -> sqlite3.Connection:
    made = sqlite3.connect(":memory:")
    made.execute("CREATE VIRTUAL TABLE words USING fts5(text, tokenize='unicode61 remove_diacritics 2')")
    made.execute("INSERT INTO words VALUES ('rain in Kyiv')")
    return made


@given(typed=st.text(alphabet=st.characters()))
def test_no_text_is_a_fault_of_syntax(index: sqlite3.Connection, typed: str) -> None:
    question = question_of(typed)
    if question is not None:
        index.execute("SELECT * FROM words WHERE words MATCH ?", (question,)).fetchall()


@given(typed=st.text(alphabet="\"'*^():{}+-\0 aORNEAR,"))
def test_nor_is_what_looks_like_syntax(index: sqlite3.Connection, typed: str) -> None:
    question = question_of(typed)
    if question is not None:
        index.execute("SELECT * FROM words WHERE words MATCH ?", (question,)).fetchall()


def test_nothing_is_found_by_no_word(index: sqlite3.Connection) -> None:
    assert index.execute("SELECT * FROM words WHERE words MATCH ?", (NOTHING,)).fetchall() == []
