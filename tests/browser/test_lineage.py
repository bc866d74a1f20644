"""People see what a dataset is made of: in a drawing that they can follow with the keyboard, and in lists."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.browser.derived import verdict
from tests.browser.site import PHONE, WAIT_MS, Site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
expect.set_options(timeout=WAIT_MS)
REPORT = "alice/seattle-weather.report"


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
async def test_the_lineage_leads_from_one_dataset_to_the_next(site: Site, *, scripts: bool) -> None:
    async with site.opened(java_script_enabled=scripts) as page:
        await site.go(page, "derivative")
        await page.get_by_role("link", name="The whole lineage").click()
        await page.get_by_role("link", name=f"{REPORT}: derivative, not verified").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("seattle-weather.report")
        await page.get_by_role("link", name="Lineage", exact=True).click()
        row = page.get_by_role("row", name="alice/us.noaa.seattle-weather")
        await expect(row).to_contain_text("verified")


async def test_a_verdict_that_fails_turns_its_box(site: Site) -> None:
    async with site.opened() as page:
        await site.go(page, "lineage")
        box = page.locator("a", has=page.get_by_text("seattle-weather.report")).locator(".box")
        before = await box.evaluate("each => getComputedStyle(each).stroke")
        entry = await site.server.repository.find(site.server.alias("seattle-weather.report"))
        await verdict(site.server, entry, "invalid", 5.0)
        await page.reload()
        await expect(page.get_by_role("link", name=f"{REPORT}: derivative, verification fails")).to_be_visible()
        after = await box.evaluate("each => getComputedStyle(each).stroke")
        hottest = page.locator("a", has=page.get_by_text("seattle-weather.hottest-days")).locator(".box")
        assert after != before
        assert after == await hottest.evaluate("each => getComputedStyle(each).stroke")
        await expect(page.get_by_role("row", name=REPORT)).to_contain_text("verification fails")


async def test_every_box_is_reached_with_the_keyboard_and_shows_it(site: Site) -> None:
    async with site.opened() as page:
        await site.go(page, "lineage")
        await page.get_by_role("region", name="Drawing of the lineage").focus()
        reached = []
        for _ in range(5):
            await page.keyboard.press("Tab")
            reached.append(await page.evaluate("document.activeElement.getAttribute('aria-label')"))
            shown = await page.evaluate("getComputedStyle(document.activeElement.querySelector('.box')).strokeWidth")
            assert shown == "4px"
        assert {each.partition(":")[0] for each in reached} == {
            "alice/seattle-weather.fahrenheit", "alice/us.noaa.seattle-weather", REPORT,
            "alice/seattle-weather.hottest-days", "alice/seattle-weather.stations",
        }  # fmt: skip
        await page.keyboard.press("Enter")
        await page.wait_for_url(lambda url: not url.endswith("/lineage"))


async def test_on_a_phone_the_drawing_scrolls_by_itself(site: Site) -> None:
    async with site.opened(**PHONE) as page:
        await site.go(page, "lineage")
        wide = page.get_by_role("region", name="Drawing of the lineage")
        assert await wide.evaluate("each => each.scrollWidth > each.clientWidth")
        assert await page.evaluate("document.scrollingElement.scrollWidth") <= PHONE["viewport"]["width"]


async def test_the_picture_alone_is_drawn_in_its_colours(site: Site) -> None:
    async with site.opened() as page:
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        await page.goto(f"{site.server.url}{site.pages['lineage']}.svg")
        box = page.locator(".failing .box").first
        assert await box.evaluate("each => getComputedStyle(each).stroke") == "rgb(164, 14, 38)"
        assert not said
