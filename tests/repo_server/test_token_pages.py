"""The page of tokens: seen, made and ended by whoever is logged in, and by forms of our own pages alone."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest

from catalog.scopes import Scope
from opendatafabric.names import AccountName
from tests.repo_server.browsing import PASSWORD, Browser, FormReader, browsing
from tests.repo_server.hosted import Hosted

pytestmark = pytest.mark.slow

PATH = "/v/tokens"


@pytest.fixture
async def browser(multi: Hosted) -> AsyncIterator[Browser]:
    """Alice's, logged in."""
    await multi.catalog.accounts.set_password(AccountName("alice"), PASSWORD)
    async with browsing(multi.url) as found:
        await found.log_in()
        yield found


async def make(browser: Browser, **fields: str) -> tuple[int, str]:
    page = await browser.get(PATH)
    answer = await browser.submit(page, **{"scope": "datasets:read", "datasets": "", "days": "7", **fields})
    return answer.status, answer.text


def token_in(page: str) -> str:
    found = re.search(r"ka_[0-9A-Z]+", page)
    assert found is not None
    return found[0]


async def revoke(browser: Browser, token_id: str) -> int:
    fields = FormReader.read((await browser.get(PATH)).text).hidden
    return (await browser.post(f"{PATH}/revoke", {**fields, "token": token_id})).status


async def test_who_is_not_logged_in_is_sent_to_log_in_and_comes_back(multi: Hosted) -> None:
    await multi.catalog.accounts.set_password(AccountName("alice"), PASSWORD)
    async with browsing(multi.url) as browser:
        login = await browser.follow(await browser.get(PATH))
        answer = await browser.submit(login, login="alice", password=PASSWORD)
        assert answer.headers["Location"] == multi.url + PATH


async def test_a_token_that_was_made_counts_for_what_was_chosen(multi: Hosted, browser: Browser) -> None:
    status, page = await make(browser, datasets="alice/weather alice/net.%")
    assert status == 200
    text = token_in(page)
    found = await multi.catalog.tokens.authenticate(text)
    assert (str(found.account.name), found.scopes) == ("alice", frozenset({Scope.DATASETS_READ}))
    assert [str(each) for each in found.datasets] == ["alice/weather", "alice/net.%"]


async def test_the_text_of_a_token_is_shown_once(browser: Browser) -> None:
    _, page = await make(browser)
    again = await browser.get(PATH)
    assert token_in(page) not in again.text
    assert again.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("scope", "everything", "there is no scope"),
        ("scope", "admin", "only administrators"),
        ("days", "0", "1 to 3660 days"),
        ("days", "99999", "1 to 3660 days"),
        ("days", "²", "1 to 3660 days"),
        ("datasets", "../..", ""),
        ("datasets", "<script>alert(1)</script>", ""),
    ],
)
async def test_what_cannot_be_used_is_refused_on_the_page(browser: Browser, field: str, value: str, said: str) -> None:
    status, page = await make(browser, **{field: value})
    assert status == 400
    assert said in page
    assert 'role="alert"' in page
    assert "<script>alert" not in page


async def test_a_token_for_nothing_is_refused(browser: Browser) -> None:
    fields = FormReader.read((await browser.get(PATH)).text).hidden
    answer = await browser.post(PATH, {**fields, "datasets": "", "days": "7"})
    assert (answer.status, "choose at least one" in answer.text) == (400, True)


async def test_a_token_is_ended(multi: Hosted, browser: Browser) -> None:
    (info,) = await multi.catalog.tokens.list(multi.accounts["alice"])
    assert (await multi.ask("GET", "/accounts/me", who="alice")).status == 200
    assert await revoke(browser, info.id) == 303
    assert (await multi.ask("GET", "/accounts/me", who="alice")).status == 401
    assert "You have no tokens" in (await browser.get(PATH)).text


async def test_tokens_of_others_are_neither_seen_nor_ended(multi: Hosted, browser: Browser) -> None:
    (info,) = await multi.catalog.tokens.list(multi.accounts["bob"])
    assert info.id not in (await browser.get(PATH)).text
    assert await revoke(browser, info.id) == 404
    assert (await multi.ask("GET", "/accounts/me", who="bob")).status == 200


async def test_forms_of_other_sites_do_nothing(multi: Hosted, browser: Browser) -> None:
    (info,) = await multi.catalog.tokens.list(multi.accounts["alice"])
    fields = {"scope": "datasets:read", "datasets": "", "days": "7", "token": info.id}
    good = FormReader.read((await browser.get(PATH)).text).hidden
    for path in (PATH, f"{PATH}/revoke"):
        assert (await browser.post(path, fields)).status == 403
        assert (await browser.post(path, {**fields, **good, "csrf": "0" * 64})).status == 403
        assert (await browser.post(path, {**good, **fields}, origin="http://elsewhere.example")).status == 403
    assert len(await multi.catalog.tokens.list(multi.accounts["alice"])) == 1


async def test_the_audit_log_says_whose_browser_it_was(multi: Hosted, browser: Browser) -> None:
    await make(browser)
    (info, _) = await multi.catalog.tokens.list(multi.accounts["alice"])
    await revoke(browser, info.id)
    entries = [each for each in await multi.catalog.audit.list() if "/v/tokens" in each.action]
    assert [(each.action, each.details["account"]) for each in entries] == [
        ("POST /v/tokens/revoke", "alice"),
        ("POST /v/tokens", "alice"),
    ]
