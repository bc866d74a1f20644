"""People find a dataset and look at it: with a mouse, with the keyboard, without scripts."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.browser.site import DARK, WAIT_MS, Site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
expect.set_options(timeout=WAIT_MS)


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
async def test_a_dataset_is_found_and_looked_at(site: Site, *, scripts: bool) -> None:
    async with site.opened(java_script_enabled=scripts) as page:
        await site.go(page, "home")
        await page.get_by_role("searchbox").fill("seattle noaa")
        await page.get_by_role("searchbox").press("Enter")
        await page.get_by_role("link", name="alice/us.noaa.seattle-weather", exact=True).first.click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("us.noaa.seattle-weather")
        await expect(page.get_by_text("Daily weather observations in Seattle")).to_be_visible()
        await expect(page.get_by_role("cell", name="temp_max")).to_be_visible()
        await page.get_by_role("link", name="Blocks", exact=True).click()
        await page.locator("table a").first.click()
        await expect(page.get_by_text("kind: MetadataBlock")).to_be_visible()
        await page.locator("a[rel=prev]").click()
        await expect(page.get_by_role("heading", level=2).first).to_contain_text("Block 7")


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
async def test_a_dataset_is_found_by_a_word_of_its_description_and_by_filters(site: Site, *, scripts: bool) -> None:
    async with site.opened(java_script_enabled=scripts) as page:
        found = page.get_by_role("region", name="Found").get_by_role("link")
        await site.go(page, "home")
        await page.get_by_role("searchbox").fill("observations")
        await page.get_by_role("searchbox").press("Enter")
        await expect(found).to_have_text("alice/us.noaa.seattle-weather")
        await page.get_by_role("searchbox").fill("seattle")
        await page.get_by_role("searchbox").press("Enter")
        await expect(found.nth(1)).to_be_visible()
        await page.get_by_label("Kind").select_option("root")
        await page.get_by_role("button", name="Show").click()
        await expect(found).to_have_text("alice/us.noaa.seattle-weather")
        await expect(page.get_by_label("Kind")).to_have_value("root")
        await page.get_by_label("Kind").select_option("derivative")
        await page.get_by_label("Verification").select_option("verified")
        await page.get_by_role("button", name="Show").click()
        await expect(found).to_have_text("alice/seattle-weather.fahrenheit")
        await page.get_by_label("Verification").select_option("stale")
        await page.get_by_role("button", name="Show").click()
        await expect(page.get_by_text("Nothing that you may see is like that")).to_be_visible()
        await page.get_by_role("link", name="Reset").click()
        await expect(page.get_by_role("heading", name="Newest")).to_be_visible()


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
async def test_a_verdict_is_found_with_its_report(site: Site, *, scripts: bool) -> None:
    async with site.opened(java_script_enabled=scripts) as page:
        await site.go(page, "dataset")
        await page.get_by_role("link", name="Verification", exact=True).click()
        await expect(page.get_by_text("The last verdict: valid")).to_be_visible()
        await page.locator("td a").first.click()
        await expect(page.get_by_text("Nothing was found")).to_be_visible()


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
async def test_a_failing_verdict_is_seen_and_explained(site: Site, *, scripts: bool) -> None:
    async with site.opened(java_script_enabled=scripts) as page:
        await site.go(page, "home")
        await page.get_by_role("link", name="alice/com.yahoo.stocks.monthly", exact=True).first.click()
        await expect(page.get_by_text("verification fails")).to_be_visible()
        await expect(page.get_by_text("A verification found damage")).to_be_visible()
        await page.get_by_role("link", name="What was found, and what to do").click()
        words = page.get_by_label("In words")
        await expect(words).to_contain_text("do not rely on it before it is mended")
        await expect(words).to_contain_text("a file is missing, or does not have the bytes that its block says")
        await expect(words).to_contain_text("What to do. Bring it back from a sound copy")
        await expect(words).to_contain_text("It holds the records with the offsets 0 to 559.")
        await words.get_by_role("link", name="Block").first.click()
        await expect(page.get_by_text("kind: MetadataBlock")).to_be_visible()


async def focused(page: Page) -> str:
    text: str = await page.evaluate(
        "document.activeElement.getAttribute('aria-label') ?? document.activeElement.innerText"
    )
    return text.strip()


async def test_the_keyboard_is_enough(site: Site) -> None:
    async with site.opened() as page:
        await site.go(page, "home")
        await page.keyboard.press("Tab")
        assert await focused(page) == "Skip to the contents"
        await expect(page.get_by_text("Skip to the contents")).to_be_in_viewport()
        await page.keyboard.press("Tab")
        await page.keyboard.press("Tab")
        assert await focused(page) == "Search datasets"
        await page.keyboard.type("airports")
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/?q=airports")
        for _ in range(10):
            await page.keyboard.press("Tab")
            if await focused(page) == "alice/us.faa.airports":
                break
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", level=1)).to_have_text("us.faa.airports")


async def test_who_skips_the_frame_is_at_the_contents(site: Site) -> None:
    async with site.opened() as page:
        await site.go(page, "home")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await page.keyboard.press("Tab")
        assert (await focused(page)).startswith("alice/")


async def test_a_command_is_copied(site: Site) -> None:
    async with site.opened(permissions=["clipboard-read", "clipboard-write"]) as page:
        await site.go(page, "dataset")
        await page.get_by_role("button", name="Copy").first.click()
        await expect(page.get_by_role("button", name="Copied")).to_be_visible()
        copied = await page.evaluate("navigator.clipboard.readText()")
        assert copied == f"odf pull odf+{site.server.url}/alice/us.noaa.seattle-weather"


async def test_without_scripts_there_are_no_buttons_that_do_nothing(site: Site) -> None:
    async with site.opened(java_script_enabled=False) as page:
        await site.go(page, "dataset")
        assert not [each for each in await page.get_by_role("button").all() if await each.is_visible()]


async def background(page: Page) -> str:
    text: str = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    return text


async def test_the_theme_follows_the_system_until_somebody_chooses(site: Site) -> None:
    async with site.opened() as page, site.opened(**DARK) as in_the_dark:
        await site.go(page, "home")
        await site.go(in_the_dark, "home")
        dark, light = await background(in_the_dark), await background(page)
        assert dark != light
        await in_the_dark.get_by_role("button", name="Dark theme").click()
        assert await background(in_the_dark) == light
        await site.go(in_the_dark, "dataset")
        assert await background(in_the_dark) == light


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
async def test_a_token_is_made_and_ended(site: Site, *, scripts: bool) -> None:
    async with site.opened(java_script_enabled=scripts, storage_state=site.logged_in) as page:
        await site.go(page, "tokens")
        rows = page.get_by_role("row")
        before = await rows.count()
        await page.get_by_label("Days until it ends").fill("7")
        await page.get_by_role("button", name="Make the token").click()
        await expect(page.get_by_label("The new token")).to_contain_text("ka_")
        await expect(rows).to_have_count(before + 1)
        await page.get_by_role("button", name="Revoke").first.click()
        await expect(rows).to_have_count(before)


async def test_the_newest_records_are_shown(site: Site) -> None:
    async with site.opened() as page:
        for _ in range(20):
            await site.go(page, "dataset")
            if await page.get_by_role("heading", name="Newest records").is_visible():
                break
        await expect(page.get_by_role("cell", name="1460", exact=True)).to_be_visible()
