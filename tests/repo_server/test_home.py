"""The start page and that of an account: lists of what the caller may see, fresh within moments."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from catalog.visibility import Visibility
from repo_server.config import Tenancy
from tests.repo_server.hosted import Hosted, a_chain
from tests.repo_server.test_dataset_pages import INSTANCE
from tests.storage.chains import chain

pytestmark = pytest.mark.slow

BROWSER = {"Accept": "text/html"}
AS_JSON = {"Content-Type": "application/json"}
DEADLINE_S = 30


async def listed(server: Hosted, path: str = "/", who: str | None = None) -> Any:
    return orjson.loads((await server.ask("GET", path, who=who)).body)


async def names(server: Hosted, path: str = "/", who: str | None = None) -> list[str]:
    return [each["alias"] for each in (await listed(server, path, who))["datasets"]]


async def until_listed(server: Hosted, *aliases: str, path: str = "/", who: str | None = None) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while set(await names(server, path, who)) != set(aliases):  # noqa: ASYNC110  a database is waited for
            await asyncio.sleep(0.02)


async def add(server: Hosted, name: str, number: int, visibility: Visibility = Visibility.PUBLIC) -> None:
    """A dataset that another process of the catalog was pushed to."""
    made = a_chain(number)
    entry = await server.add(name, made, visibility)
    await server.catalog.datasets.log_move(entry.id, None, expected_head=None, new_head=made.head)


async def test_what_another_process_was_given_is_listed_without_anybody_looking_at_it(server: Hosted) -> None:
    await add(server, "open", 1)
    await until_listed(server, str(server.alias("open")))


async def test_a_repository_without_datasets_says_so(multi: Hosted) -> None:
    counts: dict[str, Any] = {"kind": {}, "standing": {}, "license": {}}
    nothing = {"datasets": [], "total": 0, "counts": counts, "complete": True, "next": None}
    async with asyncio.timeout(DEADLINE_S):
        while await listed(multi) != nothing:  # noqa: ASYNC110  a first look is waited for
            await asyncio.sleep(0.02)
    assert "There are no datasets here yet" in (await multi.ask("GET", "/", headers=BROWSER)).text


async def test_who_looks_decides_what_is_listed(multi: Hosted) -> None:
    for number, visibility in enumerate(Visibility, start=1):
        await add(multi, visibility.value, number, visibility)
    everything = [f"alice/{each.value}" for each in Visibility]
    await until_listed(multi, *everything, who="alice")
    for who in (None, "bob"):
        assert await names(multi, who=who) == ["alice/public"]
        assert await names(multi, "/alice", who=who) == ["alice/public"]
    assert set(await names(multi, "/alice", who="root")) == set(everything)


async def test_a_token_for_some_datasets_shows_what_is_public(multi: Hosted) -> None:
    await add(multi, "hidden", 1, Visibility.PRIVATE)
    await until_listed(multi, "alice/hidden", who="alice")
    bound = await multi.ask("GET", "/", who=await multi.bound_token("alice", "alice/other"))
    assert orjson.loads(bound.body)["datasets"] == []


async def test_words_find_datasets(multi: Hosted) -> None:
    await add(multi, "rain", 1)
    await add(multi, "snow", 2)
    await until_listed(multi, "alice/rain", "alice/snow")
    assert await names(multi, "/?q=SNOW") == ["alice/snow"]
    assert await names(multi, "/?q=for+tests+rain") == ["alice/rain"]
    page = (await multi.ask("GET", "/?q=%3Cscript%3E", headers=BROWSER)).text
    assert "Nothing that you may see is like that" in page
    assert "<script>" not in page.replace("<script src", "").replace("<script type", "")


async def test_lists_come_in_pages(multi: Hosted) -> None:
    for number in range(1, 23):
        await add(multi, f"d{number}", number)
    async with asyncio.timeout(DEADLINE_S):
        while (await listed(multi))["total"] != 22:  # noqa: ASYNC110  a database is waited for
            await asyncio.sleep(0.05)
    answer = await multi.ask("GET", "/?q=for+tests")
    told = orjson.loads(answer.body)
    assert len(told["datasets"]) == 20
    assert answer.headers["Link"] == f'<{multi.url}{told["next"]}>; rel="next"'
    following = await listed(multi, told["next"])
    assert (len(following["datasets"]), following["next"]) == (2, None)
    shown = {each["alias"] for each in [*told["datasets"], *following["datasets"]]}
    assert shown == {f"alice/d{number}" for number in range(1, 23)}
    page = (await multi.ask("GET", told["next"], headers=BROWSER)).text
    assert 'rel="first"' in page
    assert 'rel="next"' not in page
    assert len(await names(multi, "/alice?limit=3&sort=size")) == 3


@pytest.mark.parametrize(
    "query",
    [
        "after=x",
        "after=-1",
        "after=%C2%B2",
        "after=WyJ4IiwieCJd",
        "after=WzEsMV0=&sort=name",
        "limit=0",
        "limit=1001",
        "kind=other",
        "standing=good",
        "sort=best",
        "updatedSince=yesterday",
        "updatedBefore=2026-13-01",
    ],
)
async def test_what_is_no_value_of_its_parameter_is_refused(multi: Hosted, query: str) -> None:
    assert (await multi.ask("GET", f"/?{query}")).status == 400


async def test_filters_narrow_what_is_found_and_the_page_keeps_them(multi: Hosted) -> None:
    await add(multi, "rain", 1)
    await add(multi, "snow", 2)
    await until_listed(multi, "alice/rain", "alice/snow")
    for query in ("q=rain&kind=root", "q=rain&account=Alice", "q=rain&updatedSince=2024-01-01", "kind=&q=rain&sort="):
        assert await names(multi, f"/?{query}") == ["alice/rain"]
    for query in (
        "kind=derivative",
        "account=bob",
        "account=%00",
        "account=nobody",
        "license=mit",
        "keyword=x%22y",
        "standing=verified",
        "updatedBefore=2024-01-01T00:00:00Z",
    ):
        assert await names(multi, f"/?{query}") == []
    page = (await multi.ask("GET", "/?q=rain&kind=root", headers=BROWSER)).text
    assert '<option value="root" selected>root (1)</option>' in page
    page = (await multi.ask("GET", "/?q=rain&license=%3Cb%3E", headers=BROWSER)).text
    assert '<option value="&lt;b&gt;" selected>' in page


@pytest.mark.parametrize("words", ["%00", "%ED%A0%80", "%22", "%27%22*OR", "%28", "x" * 5_000, "%F0%9F%8C%A7"])
async def test_no_words_of_strangers_are_a_fault(multi: Hosted, words: str) -> None:
    await add(multi, "rain", 1)
    await until_listed(multi, "alice/rain")
    for headers in ({}, BROWSER):
        for name in ("q", "keyword", "license", "account"):
            assert (await multi.ask("GET", f"/?{name}={words}", headers=headers)).status == 200


async def test_an_account_that_shows_nothing_is_not_told_from_none(multi: Hosted) -> None:
    await add(multi, "hidden", 1, Visibility.PRIVATE)
    await until_listed(multi, "alice/hidden", who="alice")
    hidden, nothing = [await multi.ask("GET", path) for path in ("/alice", "/nobody")]
    assert hidden.status == nothing.status == 404
    assert INSTANCE.sub("", hidden.text) == INSTANCE.sub("", nothing.text)
    assert (await multi.ask("GET", "/%00")).status == 404
    assert (await multi.ask("GET", "/bob", who="bob")).status == 200


async def test_a_chain_that_grew_is_told_anew(multi: Hosted) -> None:
    made = chain(["before"], number=9)
    entry = await multi.add("open", made)
    await multi.catalog.datasets.log_move(entry.id, None, expected_head=None, new_head=made.head)
    await until_listed(multi, "alice/open")
    expected = made.head
    await entry.dataset.append([made.info("afterwards")], expected_head=expected)
    await multi.catalog.datasets.log_move(entry.id, None, expected_head=expected, new_head=made.head)
    await until_listed(multi, "alice/open", path="/?q=afterwards")


@pytest.mark.parametrize("tenancy", [Tenancy.SINGLE], ids=["single"], indirect=True)
async def test_without_accounts_there_are_no_pages_of_them(server: Hosted) -> None:
    assert (await server.ask("GET", "/alice", headers=BROWSER)).status == 404


async def test_a_deleted_dataset_is_in_no_list_at_once_and_one_that_came_back_is(multi: Hosted) -> None:
    await add(multi, "open", 1)
    await until_listed(multi, "alice/open")
    named = {"If-Match": f'"{a_chain(1).head}"'}
    assert (await multi.ask("DELETE", multi.path("open"), who="alice", headers=named)).status == 200
    for who in (None, "alice", "root"):
        assert await names(multi, who=who) == []
    dataset_id = a_chain(1).id
    assert (await multi.ask("POST", f"/system/deleted/{dataset_id}", who="alice")).status == 200
    assert await names(multi) == ["alice/open"]


async def test_a_renamed_dataset_is_listed_under_its_new_name_at_once(multi: Hosted) -> None:
    await add(multi, "open", 1)
    await until_listed(multi, "alice/open")
    renamed = await multi.ask("PATCH", multi.path("open"), who="alice", data=b'{"name": "other"}', headers=AS_JSON)
    assert renamed.status == 200, renamed.text
    assert await names(multi) == ["alice/other"]
