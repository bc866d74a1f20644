"""What the page to ask in SQL makes of questions and answers."""

from __future__ import annotations

import pytest

from opendatafabric.errors import InvalidQuery
from repo_server.pages.frame import Frame
from repo_server.pages.query_page import AskedOnPage, SeenQuery, cell_text, place_of, query_page, result_of
from tests.repo_server.pages.seen import Seen
from tests.repo_server.pages.test_templates import HOSTILE

FIELDS = {"fields": [{"name": "city", "data_type": "Utf8"}, {"name": "n", "data_type": "Int64"}]}


def shown(seen: SeenQuery) -> Seen:
    return Seen(query_page(seen, Frame(), rows_max=10, file_rows_max=1_000))


def test_values_are_texts_and_null_is_told_from_nothing() -> None:
    assert [cell_text(value) for value in (None, "", 1, [1, 2], "x" * 400)] == [None, "", "1", "[1,2]", "x" * 300 + "…"]
    result = result_of({"schema": FIELDS, "data": [[None, 1], ["", 2]]}, [], took_s=0.1, proof=None)
    assert "null" in shown(SeenQuery(AskedOnPage(), result=result)).texts


def test_columns_of_numbers_are_known() -> None:
    assert result_of({"schema": FIELDS, "data": []}, [], took_s=0, proof=None).numbers == {1}


def test_an_address_has_what_is_not_as_usual() -> None:
    address = AskedOnPage("select 1", limit=5, as_at="2026-01-01T00:00:00Z").address(**{"as": "csv"})
    assert address == "/query?query=select+1&limit=5&asAt=2026-01-01T00:00:00Z&as=csv"
    assert "state=true" in AskedOnPage("select 1", state=True).address()


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ("wrong (line 2, column 3)", (2, 3)),
        ("wrong (line 3, column 1)", None),
        ("wrong (line 1, column 99)", None),
        ("wrong (line 0, column 1)", None),
        ("wrong", None),
    ],
)
def test_a_place_is_shown_where_there_is_one(message: str, place: tuple[int, int] | None) -> None:
    found = place_of("select\n  x", message)
    assert (None if found is None else (found.line, found.column)) == place


def test_the_mark_stands_below_the_character() -> None:
    found = place_of("select\n  x", "wrong (line 2, column 3)")
    assert found is not None
    assert (found.text, found.mark) == ("  x", "  ^")


def test_what_is_typed_and_what_is_found_stay_texts() -> None:
    result = result_of({"schema": FIELDS, "data": [[HOSTILE, 1]]}, [], took_s=0, proof=HOSTILE)
    seen = shown(SeenQuery(AskedOnPage(HOSTILE, as_at=HOSTILE), result=result, fault=InvalidQuery(HOSTILE)))
    assert "img" not in seen.names
    assert not [name for name, _ in seen.attributes if name.startswith("on")]


def test_a_proof_too_long_for_an_address_has_no_button() -> None:
    result = result_of({"schema": FIELDS, "data": []}, [], took_s=0, proof="x" * 8_000)
    assert "odf sql --check FILE" in shown(SeenQuery(AskedOnPage(), result=result)).texts
