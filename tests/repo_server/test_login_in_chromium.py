"""The whole way of a login: a program asks, a person allows it on the page in a real browser, the program pushes."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Page

from opendatafabric.names import AccountName
from repo_server.config import Tenancy
from tests.chromium import chromium
from tests.cli.runner import odf
from tests.repo_server.browsing import PASSWORD
from tests.repo_server.hosted import Hosted, hosted
from tests.repo_server.oidc.issuer import CLIENT, SECRET, issuing
from tests.source_tree import ROOT

pytestmark = pytest.mark.slow
AIRPORTS = ROOT / "examples" / "datasets" / "us.faa.airports"
WAIT_S, WAIT_MS = 60, 60_000


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Hosted]:
    async with hosted(tmp_path / "hosted", Tenancy.MULTI) as running:
        await running.catalog.accounts.set_password(AccountName("alice"), PASSWORD)
        yield running


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    async with chromium() as browser:
        opened = await browser.new_page()
        opened.set_default_timeout(WAIT_MS)
        yield opened


async def program(tmp_path: Path, *arguments: object) -> Process:
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config")}
    command = [sys.executable, "-m", "cli.main", *map(str, arguments)]
    return await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment)


async def page_shown_by(login: Process) -> str:
    assert login.stderr is not None
    line = (await asyncio.wait_for(login.stderr.readline(), WAIT_S)).decode()
    found = re.search(r"http://\S+", line)
    assert found is not None, line
    return found[0]


async def ended(process: Process) -> int:
    out, err = await asyncio.wait_for(process.communicate(), WAIT_S)
    print(out.decode(), err.decode())
    assert process.returncode is not None
    return process.returncode


async def log_in(page: Page) -> None:
    await page.get_by_label("Account").fill("alice")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Log in").click()


async def test_a_person_allows_a_program_in_which_then_pushes(server: Hosted, page: Page, tmp_path: Path) -> None:
    login = await program(tmp_path, "login", server.url, "--browser")
    await page.goto(await page_shown_by(login))
    await log_in(page)
    assert "127.0.0.1" in await page.inner_text("main")
    await page.get_by_role("button", name="Allow").click()
    await page.get_by_role("heading", name="Allowed").wait_for()
    assert await ended(login) == 0
    await asyncio.to_thread(odf, "init", tmp_path / "mine")
    assert (await asyncio.to_thread(odf, "pull", "--repo", tmp_path / "mine", AIRPORTS.as_uri())).code == 0
    to = f"odf+{server.url}/alice/us.faa.airports"
    assert await ended(await program(tmp_path, "push", "--repo", tmp_path / "mine", "us.faa.airports", "--to", to)) == 0
    assert (await server.ask("GET", "/alice/us.faa.airports/refs/head", who="alice")).status == 200


async def test_a_person_sends_a_program_away(server: Hosted, page: Page, tmp_path: Path) -> None:
    login = await program(tmp_path, "login", server.url, "--browser")
    await page.goto(await page_shown_by(login))
    await log_in(page)
    await page.get_by_role("button", name="Deny").click()
    await page.get_by_role("heading", name="Denied").wait_for()
    assert await ended(login) == 6
    await page.go_back()
    await page.reload()
    assert "ended" in await page.inner_text("main")


async def test_a_person_logs_in_at_an_issuer_and_allows_a_program_in(page: Page, tmp_path: Path) -> None:
    async with issuing() as issuer:
        settings = {"oidc_issuer": issuer.address, "oidc_client_id": CLIENT, "oidc_client_secret": SECRET}
        async with hosted(tmp_path / "hosted", Tenancy.MULTI, **settings) as server:
            login = await program(tmp_path, "login", server.url, "--browser")
            await page.goto(await page_shown_by(login))
            await page.get_by_role("link", name="Log in with single sign-on").click()
            await page.get_by_role("link", name="Let me in").click()
            await page.get_by_role("button", name="Allow").click()
            await page.get_by_role("heading", name="Allowed").wait_for()
            assert await ended(login) == 0
            assert "carol-k" in {str(account.name) for account in await server.catalog.accounts.list()}
