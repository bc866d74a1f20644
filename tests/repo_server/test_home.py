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
    assert await listed(multi) == {"datasets": [], "next": None}
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
    assert "Nothing that you may see holds these words" in page
    assert "<script>" not in page.replace("<script src", "").replace("<script type", "")


async def test_lists_come_in_pages(multi: Hosted) -> None:
    for number in range(1, 23):
        await add(multi, f"d{number}", number)
    async with asyncio.timeout(DEADLINE_S):
        while len(await names(multi, "/?after=20")) != 2:  # noqa: ASYNC110  a database is waited for
            await asyncio.sleep(0.05)
    told = await listed(multi)
    assert (len(told["datasets"]), told["next"]) == (20, "/?after=20")
    page = (await multi.ask("GET", "/?after=20", headers=BROWSER)).text
    assert 'rel="prev"' in page
    assert 'rel="next"' not in page


@pytest.mark.parametrize("after", ["x", "-1", "99999999", "%C2%B2"])
async def test_a_place_in_a_list_that_is_none_is_refused(multi: Hosted, after: str) -> None:
    assert (await multi.ask("GET", f"/?after={after}")).status == 400


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
