"""Lists in pages: every row once, in order, whatever comes or goes meanwhile."""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from catalog.reports import KeptReport
from opendatafabric.errors import MalformedInput
from opendatafabric.multihash import physical_hash
from repo_server.paging import Key, page_of
from repo_server.services import SERVICES
from tests.repo_server.hosted import Hosted, a_chain, code_of


def asked(target: str) -> Any:
    url = URL(target)
    return SimpleNamespace(query=url.query, rel_url=url, app={SERVICES: SimpleNamespace(base_url="http://host")})


def by_number(number: int) -> Key:
    return [number]


def next_of(headers: dict[str, str]) -> str | None:
    found = re.fullmatch(r'<http://host(.*)>; rel="next"', headers.get("Link", ""))
    return found[1] if found else None


@given(st.sets(st.integers(0, 1_000)), st.integers(1, 50))
def test_pages_are_the_whole_list_in_order(numbers: set[int], limit: int) -> None:
    target: str | None = f"/list?limit={limit}&other=kept"
    seen: list[int] = []
    while target is not None:
        page = page_of(asked(target), list(numbers), by_number)
        assert len(page.rows) <= limit
        seen += page.rows
        target = next_of(page.headers)
        assert target is None or "other=kept" in target
    assert seen == sorted(numbers, reverse=True)


def test_rows_that_come_and_go_meanwhile_shift_nothing() -> None:
    first = page_of(asked("/list?limit=2"), [5, 4, 3, 2], by_number)
    target = next_of(first.headers)
    assert target is not None
    assert page_of(asked(target), [9, 8, 5, 3, 2], by_number).rows == [3, 2]


def test_without_a_limit_all_rows_come_and_nothing_follows() -> None:
    page = page_of(asked("/list"), [1, 2], by_number)
    assert (page.rows, page.headers) == ([2, 1], {})


@pytest.mark.parametrize("limit", ["0", "-1", "1001", "x", "", "1e1", "９", "99999999999999999999"])
def test_a_limit_that_is_none_is_refused(limit: str) -> None:
    with pytest.raises(MalformedInput, match="a limit is a number"):
        page_of(asked(f"/list?limit={limit}"), [1], by_number)


@pytest.mark.parametrize("told", [b"x", b"{}", b'["a"]', b"[[1]]", b"[null]", b"[" * 300, b"\xff"])
def test_a_cursor_that_is_none_is_refused(told: bytes) -> None:
    with pytest.raises(MalformedInput, match="no place in the list"):
        page_of(asked(f"/list?after={urlsafe_b64encode(told).decode()}"), [1], by_number)


@pytest.mark.parametrize("text", ["x", "%00", "é", "a" * 10_000])
def test_text_that_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(MalformedInput, match="no place in the list"):
        page_of(asked(f"/list?after={text}"), [1], by_number)


async def test_reports_come_in_pages(multi: Hosted) -> None:
    entry = await multi.add("open", a_chain())
    for number in range(3):
        name = physical_hash(b"%d" % number)
        await multi.catalog.reports.add(KeptReport(entry.id, name, None, "valid", False, float(number)))
    first = await multi.ask("GET", "/alice/open/reports?limit=2")
    link = re.fullmatch(r'<(.*)>; rel="next"', first.headers["Link"])
    assert link is not None
    second = await multi.ask("GET", link[1].removeprefix(multi.url))
    told = [orjson.loads(answer.body) for answer in (first, second)]
    assert [len(each["reports"]) for each in told] == [2, 1]
    assert told[0]["history"] == told[1]["history"]
    assert "Link" not in second.headers
    assert code_of(await multi.ask("GET", "/alice/open/reports?limit=0")) == (400, "malformed-input")
