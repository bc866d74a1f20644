"""What holds for every page: everybody can use it, it fits where it is shown, and nothing else is loaded or run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from axe_playwright_python.async_playwright import Axe

from tests.browser.site import DARK, DESKTOP, PHONE, STATUSES, Site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
NAMES = [
    "home", "search", "search with filters", "nothing found", "account", "dataset", "derivative", "lineage", "log",
    "block", "reports", "report",
    "damaged dataset", "damage", "ask", "answer", "mistake", "empty dataset", "wide dataset",
    "organisation", "absent", "login", "tokens", "webhooks", "mirrors", "administration", "error",
    "evil dataset", "evil block",
]  # fmt: skip
SCREENS: Mapping[str, Mapping[str, Any]] = {
    "desktop": DESKTOP,
    "desktop in the dark": {**DESKTOP, **DARK},
    "phone": PHONE,
    "phone in the dark": {**PHONE, **DARK},
}


async def test_no_page_is_left_out(site: Site) -> None:
    assert set(site.pages) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
async def test_axe_finds_nothing_serious(site: Site, name: str) -> None:
    found = []
    for screen, options in SCREENS.items():
        async with site.opened(**options, **site.keeps(name)) as page:
            await site.go(page, name)
            results = (await Axe().run(page)).response
            found += [
                f"{screen}: {each['id']}: {each['help']}: {each['nodes'][0]['html'][:200]}"
                for each in results["violations"]
                if each["impact"] in {"serious", "critical"}
            ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", NAMES)
async def test_nothing_is_loaded_from_elsewhere_and_nobody_complains(site: Site, name: str) -> None:
    said: list[str] = []
    asked: list[str] = []
    async with site.opened(**site.keeps(name)) as page:
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        page.on("request", lambda request: asked.append(request.url))
        await site.go(page, name)
        await page.wait_for_load_state("networkidle")
        assert await page.evaluate("window.harmed") is None
    assert not [text for text in said if f"status of {STATUSES.get(name)}" not in text]
    assert not [url for url in asked if not url.startswith(site.server.url)]


@pytest.mark.parametrize("name", NAMES)
async def test_no_page_is_wider_than_a_phone(site: Site, name: str) -> None:
    async with site.opened(**PHONE, **site.keeps(name)) as page:
        await site.go(page, name)
        width = await page.evaluate("document.scrollingElement.scrollWidth")
        assert width <= PHONE["viewport"]["width"]


@pytest.mark.parametrize("name", NAMES)
async def test_every_page_has_a_title_one_heading_and_its_landmarks(site: Site, name: str) -> None:
    async with site.opened(**site.keeps(name)) as page:
        await site.go(page, name)
        assert await page.title()
        assert await page.locator("h1").count() == 1
        for landmark in ("main", "header", "nav[aria-label=Site]", "form[role=search]"):
            assert await page.locator(landmark).count() == 1, landmark


SHIFTS = """() => new Promise((tell) => {
    const sum = (list) => list.getEntries().reduce((all, each) => all + each.value, 0);
    new PerformanceObserver((list) => tell(sum(list))).observe({ type: "layout-shift", buffered: true });
    setTimeout(() => tell(0), 500);
})"""


@pytest.mark.parametrize("name", ["home", "dataset", "answer", "tokens"])
async def test_nothing_moves_while_a_page_comes(site: Site, name: str) -> None:
    for options in (DESKTOP, PHONE):
        async with site.opened(**options, **site.keeps(name)) as page:
            await site.go(page, name)
            await page.wait_for_load_state("networkidle")
            assert await page.evaluate(SHIFTS) < 0.01
