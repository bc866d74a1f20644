"""People ask datasets in SQL, mend what is wrong with a query, take answers away and have them checked."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.browser.site import WAIT_MS, Site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
expect.set_options(timeout=WAIT_MS)
WEATHER = "alice/us.noaa.seattle-weather"
COUNT = f'SELECT count(*) AS days FROM "{WEATHER}"'
both_ways = pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])


async def run(page: Page, query: str) -> None:
    await page.get_by_role("textbox", name="Query").fill(query)
    await page.get_by_role("button", name="Run").click()


async def kept(page: Page, name: str, folder: Path) -> bytes:
    async with page.expect_download() as download:
        await page.get_by_role("link", name=name, exact=True).click()
    path = folder / (await download.value).suggested_filename
    await (await download.value).save_as(path)
    return path.read_bytes()


@both_ways
async def test_a_dataset_is_found_looked_at_asked_and_taken_away(site: Site, tmp_path: Path, *, scripts: bool) -> None:
    async with site.opened(java_script_enabled=scripts) as page:
        await site.go(page, "home")
        await page.get_by_role("searchbox").fill("seattle noaa")
        await page.get_by_role("searchbox").press("Enter")
        await page.get_by_role("link", name=WEATHER, exact=True).first.click()
        await expect(page.get_by_text("Daily weather observations in Seattle")).to_be_visible()
        assert (await kept(page, "CSV", tmp_path)).count(b"\n") == 1_462
        await page.get_by_role("link", name="Ask in SQL").click()
        assert WEATHER in await page.get_by_role("textbox", name="Query").input_value()
        await run(page, f'SELECT date, temp_max FROM "{WEATHER}" WHERE temp_max > 35 ORDER BY temp_max')
        await expect(page.get_by_role("cell", name="35.6")).to_be_visible()
        rows = (await kept(page, "CSV", tmp_path)).decode().splitlines()
        assert (rows[0], rows[-1].endswith("35.6")) == ("date,temp_max", True)
        assert (tmp_path / "answer.csv").exists()
        assert (await kept(page, "Parquet", tmp_path)).startswith(b"PAR1")


@both_ways
async def test_a_mistake_is_shown_where_it_is_and_mended(site: Site, *, scripts: bool) -> None:
    async with site.opened(java_script_enabled=scripts) as page:
        await site.go(page, "ask")
        await run(page, f'SELECT wether FROM "{WEATHER}"')
        await expect(page.get_by_role("alert")).to_contain_text("No field named wether (line 1, column 8)")
        await expect(page.get_by_role("textbox", name="Query")).to_have_attribute("aria-invalid", "true")
        await run(page, f'SELECT DISTINCT weather FROM "{WEATHER}"')
        await expect(page.get_by_role("heading", name="5 rows")).to_be_visible()
        await expect(page.get_by_role("alert")).to_have_count(0)


@both_ways
async def test_an_answer_is_checked(site: Site, *, scripts: bool) -> None:
    async with site.opened(java_script_enabled=scripts) as page:
        await site.go(page, "ask")
        await run(page, COUNT)
        await page.get_by_role("button", name="Check it now").click()
        await expect(page.get_by_text("The proof holds.")).to_be_visible()
        assert ("check=" in page.url) is not scripts


async def test_the_keyboard_runs_a_query_and_the_page_stays(site: Site) -> None:
    async with site.opened() as page:
        await site.go(page, "ask")
        await page.evaluate("window.stayed = true")
        await page.get_by_role("textbox", name="Query").fill(COUNT)
        await page.keyboard.press("Control+Enter")
        await expect(page.get_by_role("cell", name="1461")).to_be_visible()
        await expect(page.get_by_role("status").first).to_contain_text("1 row")
        assert await page.evaluate("window.stayed")
        assert "query=SELECT" in page.url
        await page.reload()
        await expect(page.get_by_role("cell", name="1461")).to_be_visible()


async def test_columns_are_put_into_the_query_by_a_click(site: Site) -> None:
    async with site.opened() as page:
        await site.go(page, "ask")
        await page.get_by_role("textbox", name="Query").fill("")
        await page.get_by_role("button", name="Put temp_max into the query").click()
        await expect(page.get_by_role("textbox", name="Query")).to_have_value("temp_max")
        await expect(page.get_by_role("textbox", name="Query")).to_be_focused()


async def test_a_query_is_stopped(site: Site) -> None:
    async with site.opened() as page:
        await site.go(page, "ask")
        await page.route("**/query?query=*", lambda route: None)
        await run(page, COUNT)
        await page.get_by_role("button", name="Stop").click()
        await expect(page.get_by_text("Stopped.")).to_be_visible()
        await page.unroute_all(behavior="ignoreErrors")
        await run(page, COUNT)
        await expect(page.get_by_role("cell", name="1461")).to_be_visible()


async def test_who_goes_back_sees_the_answer_from_before(site: Site) -> None:
    async with site.opened() as page:
        await site.go(page, "ask")
        await run(page, COUNT)
        await expect(page.get_by_role("cell", name="1461")).to_be_visible()
        await run(page, "SELECT 'second' AS one")
        await expect(page.get_by_role("cell", name="second")).to_be_visible()
        await page.go_back()
        await expect(page.get_by_role("cell", name="1461")).to_be_visible()


async def focus_on(page: Page, text: str) -> None:
    """With the key that goes from one thing to the next."""
    for _ in range(60):
        await page.keyboard.press("Tab")
        if (
            await page.evaluate("(document.activeElement.getAttribute('name') ?? document.activeElement.innerText)")
            == text
        ):
            return
    raise AssertionError(f"{text!r} is not reached by keyboard")


async def test_the_keyboard_is_enough_to_find_ask_and_take_away(site: Site) -> None:
    async with site.opened() as page:
        await site.go(page, "home")
        await focus_on(page, "q")
        await page.keyboard.type("seattle noaa")
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/?q=seattle+noaa")
        await focus_on(page, WEATHER)
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", level=1)).to_have_text("us.noaa.seattle-weather")
        await focus_on(page, "Ask in SQL")
        await page.keyboard.press("Enter")
        await page.wait_for_url(lambda url: "/query?dataset=" in url)
        await focus_on(page, "query")
        await page.keyboard.press("Control+A")
        await page.keyboard.type(COUNT)
        await page.keyboard.press("Control+Enter")
        await expect(page.get_by_role("cell", name="1461")).to_be_visible()
        await focus_on(page, "CSV")
        async with page.expect_download() as download:
            await page.keyboard.press("Enter")
        assert (await download.value).suggested_filename == "answer.csv"
