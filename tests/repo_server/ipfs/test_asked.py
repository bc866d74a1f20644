"""What a request asks for: forms by query and header, parts of files."""

from __future__ import annotations

import pytest
from aiohttp.test_utils import make_mocked_request
from hypothesis import given
from hypothesis import strategies as st

from repo_server.ipfs.asked import EntityBytes, Form, entity_bytes_of, form_of, scope_of
from repo_server.problems import Refused

RAW, CAR = "application/vnd.ipld.raw", "application/vnd.ipld.car"


@pytest.mark.parametrize(
    ("query", "accept", "form"),
    [
        ("", None, Form.FILE),
        ("", "*/*", Form.FILE),
        ("", "text/html,application/xhtml+xml", Form.FILE),
        ("?format=raw", None, Form.RAW),
        ("?format=raw", CAR, Form.RAW),
        ("?format=car", "text/html", Form.CAR),
        ("?format=ipns-record", None, Form.RECORD),
        ("", RAW, Form.RAW),
        ("", f"text/html, {RAW};q=0.9", Form.RAW),
        ("", f"{CAR}; version=1; order=dfs; dups=y", Form.CAR),
        ("", CAR.upper(), Form.CAR),
        ("", "application/vnd.ipfs.ipns-record", Form.RECORD),
    ],
)
def test_the_form_is_named_by_the_query_or_the_header(query: str, accept: str | None, form: Form) -> None:
    headers = {} if accept is None else {"Accept": accept}
    assert form_of(make_mocked_request("GET", f"/ipfs/x{query}", headers=headers)) is form


@pytest.mark.parametrize("query", ["format=tar", "format=", "format=RAW"])
def test_another_form_is_refused(query: str) -> None:
    with pytest.raises(Refused) as refused:
        form_of(make_mocked_request("GET", f"/ipfs/x?{query}"))
    assert refused.value.response.status == 406


@pytest.mark.parametrize("query", ["entity-bytes=", "entity-bytes=5", "entity-bytes=*:5", "entity-bytes=1:2:3"])
def test_malformed_parts_are_refused(query: str) -> None:
    with pytest.raises(Refused):
        entity_bytes_of(make_mocked_request("GET", f"/ipfs/x?{query}"))


def test_without_a_word_everything_is_asked_for() -> None:
    request = make_mocked_request("GET", "/ipfs/x")
    assert (scope_of(request).value, entity_bytes_of(request)) == ("all", None)


@given(st.integers(0, 50), st.integers(-60, 60), st.integers(-60, 60) | st.none())
def test_parts_of_a_file_are_counted_from_either_end(size: int, first: int, last: int | None) -> None:
    data = bytes(range(size))
    start, end = EntityBytes(first, last).of(size)
    from_start = first if first >= 0 else max(0, size + first)
    to_last = size - 1 if last is None else last if last >= 0 else size + last
    assert data[start:end] == bytes(each for each in data if from_start <= each <= to_last)
