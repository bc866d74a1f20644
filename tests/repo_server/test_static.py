"""``/static``: what pages load, kept by browsers for ever."""

from __future__ import annotations

import pytest

from repo_server.pages.static_files import static_path
from tests.repo_server.hosted import Hosted

pytestmark = pytest.mark.slow


async def test_a_file_is_sent_for_ever_and_only_once(multi: Hosted) -> None:
    first = await multi.ask("GET", static_path("app.css"))
    assert (first.status, first.headers["Content-Type"]) == (200, "text/css")
    assert "immutable" in first.headers["Cache-Control"]
    again = await multi.ask("GET", static_path("app.css"), headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status, again.body) == (304, b"")


async def test_there_is_nothing_else_there(multi: Hosted) -> None:
    for name in ("app.css", "..%2Froutes.py", "theme.000000000000.js"):
        assert (await multi.ask("GET", f"/static/{name}")).status == 404
