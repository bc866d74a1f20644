"""A real browser for tests of pages: the Chromium of the system, without a window."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Browser, async_playwright

_WAIT_MS = 60_000


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """The browser, ended afterwards."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("no Chromium: apt-get install chromium")
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=program, args=["--no-sandbox"], timeout=_WAIT_MS)
        try:
            yield browser
        finally:
            await browser.close()
