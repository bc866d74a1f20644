"""What happens to datasets shows on pages that are open, as it happens, and is told to those who do not see it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Page, Request, expect

from storage.dataset import Dataset
from sync.push import push_dataset
from sync.remote import parse_remote
from sync.transfer import TransferOptions
from tests.browser.site import WAIT_MS, Site
from tests.storage.chains import ChainBuilder, dataset_id
from tests.sync.scenarios.stage import fill
from tests.sync.smart_server import memory_dataset

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
expect.set_options(timeout=WAIT_MS)


async def push(site: Site, name: str, dataset: Dataset) -> None:
    """To alice's account, for everybody to see."""
    location = parse_remote(f"odf+{site.server.url}/alice/{name}")
    options = TransferOptions(visibility="Public")
    await push_dataset(site.server.session, dataset, location, token=site.server.tokens["alice"], options=options)


async def pushed(site: Site, number: int, name: str) -> tuple[ChainBuilder, Dataset]:
    chain, local = ChainBuilder(dataset_id(number)), memory_dataset()
    chain.info("the first text")
    await fill(local, chain)
    await push(site, name, local)
    return chain, local


async def push_more(site: Site, name: str, chain: ChainBuilder, local: Dataset, text: str) -> None:
    before = chain.head
    chain.info(text)
    await local.append(chain.blocks[-1:], expected_head=before)
    await push(site, name, local)


@asynccontextmanager
async def listening(site: Site, path: str, **options: object) -> AsyncIterator[Page]:
    """A page that hears what happens by now."""
    async with site.opened(**options) as page:
        async with page.expect_response(lambda response: "/events" in response.url):
            await page.goto(site.server.url + path)
        await page.evaluate("window.stayed = true")
        yield page
        assert await page.evaluate("window.stayed"), "the page was loaded anew"


async def test_a_push_shows_up_on_the_page_of_its_dataset(site: Site) -> None:
    chain, local = await pushed(site, 9701, "growing")
    async with listening(site, "/alice/growing") as page:
        await expect(page.get_by_text("the first text")).to_be_visible()
        await push_more(site, "growing", chain, local, "the second text")
        await expect(page.get_by_text("the second text")).to_be_visible()
        news = page.get_by_role("status").filter(has_text="new blocks")
        await expect(news).to_have_text("alice/growing: new blocks: 3 blocks with 0 records now.")
        await expect(page.locator("dl.figures")).to_contain_text("3")


async def test_a_new_dataset_shows_up_on_the_home_page(site: Site) -> None:
    async with listening(site, "/") as page:
        await pushed(site, 9702, "brand-new")
        await expect(page.get_by_role("link", name="alice/brand-new", exact=True).first).to_be_visible()
        await expect(page.get_by_role("status").filter(has_text="alice/brand-new: a new dataset.")).to_be_visible()


async def test_what_people_did_on_the_page_stays(site: Site) -> None:
    chain, local = await pushed(site, 9703, "in-use")
    async with listening(site, "/alice/in-use") as page:
        await page.get_by_text("BibTeX").click()
        link = page.get_by_role("link", name="Verification", exact=True)
        await link.focus()
        await push_more(site, "in-use", chain, local, "the second text")
        await expect(page.get_by_text("the second text")).to_be_visible()
        await expect(page.get_by_text("@misc{")).to_be_visible()
        await expect(link).to_be_focused()
        assert await page.get_by_role("button", name="Copy").first.is_visible()


async def test_one_event_is_one_look(site: Site) -> None:
    chain, local = await pushed(site, 9704, "counted")
    looks: list[Request] = []
    async with listening(site, "/alice/counted") as page:
        page.on("request", lambda request: looks.append(request) if request.url.endswith("/alice/counted") else None)
        for text in ("the second text", "the third text"):
            await push_more(site, "counted", chain, local, text)
            await expect(page.get_by_text(text)).to_be_visible()
        assert len(looks) == 2


async def test_a_page_that_nobody_sees_listens_to_nothing(site: Site) -> None:
    chain, local = await pushed(site, 9705, "unseen")
    async with listening(site, "/alice/unseen") as page:
        looks: list[str] = []
        async with page.expect_event("requestfailed", lambda request: request.url.endswith("/events")):
            await page.evaluate(
                """Object.defineProperty(document, "hidden", { get: () => window.away, configurable: true });
                window.away = true; document.dispatchEvent(new Event("visibilitychange"));"""
            )
        page.on("request", lambda request: looks.append(request.url))
        await push_more(site, "unseen", chain, local, "the second text")
        await page.evaluate("fetch('/system/health').then((answer) => answer.text())")
        assert [url.rpartition("/")[2] for url in looks] == ["health"]
        await page.evaluate("window.away = false; document.dispatchEvent(new Event('visibilitychange'))")
        await expect(page.get_by_text("the second text")).to_be_visible()
