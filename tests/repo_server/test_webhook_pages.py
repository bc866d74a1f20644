"""The pages of webhooks: made, tried, looked at and removed by whoever is logged in, by forms of our own alone."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from catalog.roles import Role
from catalog.webhooks import Webhook
from opendatafabric.names import AccountName
from repo_server.config import Tenancy
from tests.repo_server.browsing import PASSWORD, Browser, FormReader, browsing
from tests.repo_server.hosted import Hosted, a_chain, hosted
from tests.repo_server.webhooks.receiver import Receiver, receiving
from tests.storage.chains import dataset_id

pytestmark = pytest.mark.slow

PATH = "/v/webhooks"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Hosted]:
    async with hosted(tmp_path, Tenancy.MULTI, run_worker=False, webhook_private_places=True) as running:
        await running.add("open", a_chain(1))
        await running.catalog.accounts.set_password(AccountName("bob"), PASSWORD)
        yield running


@pytest.fixture
async def browser(server: Hosted) -> AsyncIterator[Browser]:
    """Bob's, logged in."""
    async with browsing(server.url) as found:
        await found.log_in("bob")
        yield found


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as found:
        yield found


async def make(browser: Browser, url: str, **fields: str) -> tuple[int, str]:
    hidden = FormReader.read((await browser.get(PATH)).text).hidden
    answer = await browser.post(PATH, {**hidden, "url": url, "dataset": "", **fields})
    return answer.status, answer.text


async def do(browser: Browser, webhook: Webhook, deed: str, **fields: str) -> int:
    hidden = FormReader.read((await browser.get(f"{PATH}/{webhook.id}")).text).hidden
    return (await browser.post(f"{PATH}/{webhook.id}", {**hidden, "do": deed, **fields})).status


async def made(server: Hosted) -> Webhook:
    (webhook,) = await server.catalog.webhooks.made_by(server.accounts["bob"].id)
    return webhook


async def test_who_is_not_logged_in_is_sent_to_log_in(server: Hosted) -> None:
    async with browsing(server.url) as stranger:
        for path in (PATH, f"{PATH}/none"):
            assert (await stranger.get(path)).status == 303


async def test_one_is_made_and_its_secret_shown_once(server: Hosted, browser: Browser) -> None:
    status, page = await make(browser, "https://chat.example.org/s3cr3t", event="head-moved", own="yes", secret="yes")
    webhook = await made(server)
    assert status == 200
    assert webhook.wanted.secret is not None
    assert webhook.wanted.secret in page
    shown = (await browser.get(PATH)).text
    assert ("chat.example.org" in shown, "your own" in shown, "head-moved" in shown) == (True, True, True)
    assert webhook.wanted.secret not in shown
    assert "s3cr3t" not in shown + page


async def test_it_is_tried_and_what_came_of_it_is_shown_and_sent_again(
    server: Hosted, browser: Browser, receiver: Receiver
) -> None:
    await make(browser, receiver.address)
    webhook = await made(server)
    receiver.answers = [500]
    assert await do(browser, webhook, "test") == 303
    page = (await browser.get(f"{PATH}/{webhook.id}")).text
    assert "it answered 500" in page
    delivery = re.search(r'name="delivery" value="(\d+)"', page)
    assert delivery is not None
    assert await do(browser, webhook, "again", delivery=delivery[1]) == 303
    assert len(receiver.heard) == 2


async def test_it_is_paused_resumed_and_removed(server: Hosted, browser: Browser) -> None:
    await make(browser, "https://example.org/")
    states = []
    for deed in ("pause", "resume"):
        await do(browser, await made(server), deed)
        states.append((await made(server)).standing.state.value)
    assert states == ["paused", "active"]
    assert await do(browser, await made(server), "remove") == 303
    assert await server.catalog.webhooks.made_by(server.accounts["bob"].id) == []


async def test_one_of_a_dataset_is_for_those_who_maintain_it(server: Hosted, browser: Browser) -> None:
    status, page = await make(browser, "https://example.org/", dataset="alice/open")
    assert (status, "you maintain no such dataset" in page) == (400, True)
    await server.catalog.roles.grant(dataset_id(1), server.accounts["bob"], Role.MAINTAINER)
    assert (await make(browser, "https://example.org/", dataset="alice/open"))[0] == 200
    assert (await made(server)).wanted.dataset_id == dataset_id(1)


@pytest.mark.parametrize("fields", [{"url": "x"}, {"event": "nonsense"}, {"dataset": "<script>"}])
async def test_what_cannot_be_used_is_said(browser: Browser, fields: dict[str, str]) -> None:
    status, page = await make(browser, **{"url": "https://example.org/", **fields})
    assert (status, 'role="alert"' in page) == (400, True)
    assert "<script>" not in page


async def test_nobody_touches_those_of_others(server: Hosted, browser: Browser) -> None:
    await make(browser, "https://example.org/")
    webhook = await made(server)
    await server.catalog.accounts.set_password(AccountName("alice"), PASSWORD)
    async with browsing(server.url) as other:
        await other.log_in()
        hidden = FormReader.read((await other.get(PATH)).text).hidden
        assert (await other.get(f"{PATH}/{webhook.id}")).status == 404
        assert (await other.post(f"{PATH}/{webhook.id}", {**hidden, "do": "remove"})).status == 404
    assert (await browser.post(f"{PATH}/{webhook.id}", {"do": "remove"})).status == 403
    assert await do(browser, webhook, "nonsense") == 400
