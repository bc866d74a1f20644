"""Pages for administrators are for nobody else."""

from __future__ import annotations

import pytest

from catalog.mirrors import Direction, NewMirror
from tests.repo_server.hosted import Hosted

BROWSER = {"Accept": "text/html"}


@pytest.mark.parametrize("path", ["/v/admin", "/system/mirrors"])
async def test_only_administrators_see_them(multi: Hosted, path: str) -> None:
    for who, status in ((None, 401), ("alice", 403), ("root", 200)):
        assert (await multi.ask("GET", path, who=who, headers=BROWSER)).status == status


async def test_accounts_and_jobs_are_shown(multi: Hosted) -> None:
    page = (await multi.ask("GET", "/v/admin", who="root", headers=BROWSER)).text
    for part in ("alice", "bob", "verify", "Datasets and catalog can be used"):
        assert part in page


async def test_mirrors_are_shown_without_their_tokens(multi: Hosted) -> None:
    await multi.catalog.mirrors.add(
        NewMirror(Direction.PUSH, "https://other.example/", "alice/%", "@hourly", token="very-secret")
    )
    page = await multi.ask("GET", "/system/mirrors", who="root", headers=BROWSER)
    assert "https://other.example/" in page.text
    assert "very-secret" not in page.text
    as_json = await multi.ask("GET", "/system/mirrors", who="root")
    assert as_json.headers["Content-Type"].startswith("application/json")
