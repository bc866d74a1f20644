"""What a caller would have."""

from __future__ import annotations

import pytest
from aiohttp.test_utils import make_mocked_request

from repo_server.accepted import accepted

OFFERED = {"application/json": "json", "text/csv": "csv", "application/vnd.apache.parquet": "parquet"}


@pytest.mark.parametrize(
    ("header", "chosen"),
    [
        (None, "json"),
        ("", "json"),
        ("*/*", "json"),
        ("text/csv", "csv"),
        ("TEXT/CSV; q=0.5, application/json;q=0.4", "csv"),
        ("text/*", "csv"),
        ("application/*;q=0.1, text/csv;q=0.2", "csv"),
        ("application/json;q=0, */*", "csv"),
        ("image/png", "json"),
        ("application/vnd.apache.parquet, */*;q=0.1", "parquet"),
        ("text/csv;q=much", "json"),
    ],
)
def test_the_type_that_is_liked_most_is_sent(header: str | None, chosen: str) -> None:
    request = make_mocked_request("GET", "/", headers={} if header is None else {"Accept": header})
    assert accepted(request, OFFERED) == chosen
