"""Which tables a query names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.errors import InvalidQuery
from pipeline.query.table_names import table_names


def names(sql: str) -> list[str]:
    """Those given to ``to_table`` with an asterisk."""
    return [each.name + "*" * each.state for each in table_names(sql)]


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("SELECT * FROM airports", ["airports"]),
        ('SELECT a, city FROM "alice/x" a, b JOIN c ON a.x = c.y', ["alice/x", "b", "c"]),
        ("SELECT 1 FROM A, a, B", ["a", "b"]),
        ('SELECT 1 FROM "A""b"', ['A"b']),
        ("SELECT * FROM t WHERE z IN (SELECT q FROM d) ORDER BY x, y", ["t", "d"]),
        ("WITH w AS (SELECT 1 FROM e), v (a, b) AS (SELECT * FROM w) SELECT * FROM v", ["e"]),
        ("WITH w AS NOT MATERIALIZED (SELECT 1 FROM e) SELECT * FROM w", ["e"]),
        ("SELECT extract(year FROM event_time), trim(both ' ' FROM name), m FROM t", ["t"]),
        ("SELECT x IS DISTINCT FROM y FROM t", ["t"]),
        ("SELECT * FROM (SELECT * FROM q) s, LATERAL r", ["q", "r"]),
        ("SELECT * FROM (g JOIN h USING (a)) LEFT JOIN i ON true", ["g", "h", "i"]),
        ("SELECT * FROM to_table('alice/x') s JOIN TO_TABLE ( 'y' ) ON true", ["alice/x*", "y*"]),
        ("SELECT * FROM x, to_table('x')", ["x", "x*"]),
        ("SELECT * FROM generate_series(1, n) g, unnest(l), t", ["t"]),
        ("SELECT * FROM (VALUES (1, a), (2, b)) v", []),
        ("SELECT a FROM x UNION ALL SELECT b FROM y", ["x", "y"]),
        ("SELECT 'FROM s', \"FROM\" -- FROM c\n/* FROM d */ FROM t", ["t"]),
        ("DESCRIBE airports", ["airports"]),
        ("SELECT 1", []),
        ("", []),
    ],
)
def test_names_behind_from_and_join_are_tables(sql: str, found: list[str]) -> None:
    assert names(sql) == found


def test_a_name_knows_its_place() -> None:
    assert [each.start for each in table_names("SELECT 1 FROM a, to_table('b')")] == [14, 26]


@pytest.mark.parametrize("sql", ["SELECT * FROM alice.airports", 'SELECT 1 FROM x,\n "alice"."x"'])
def test_a_name_in_parts_is_refused_by_its_place(sql: str) -> None:
    with pytest.raises(InvalidQuery, match=r"several parts \(line \d, column") as caught:
        table_names(sql)
    assert "double quotes" in str(caught.value.hint)


@given(st.text(alphabet="selctfromjinwhabu \"'(),.;-/*\n"))
def test_any_text_has_names_or_is_refused(sql: str) -> None:
    try:
        found = table_names(sql)
    except InvalidQuery:
        return
    assert all(0 <= each.start < len(sql) for each in found)
