"""Who is logged in with which browser."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import delete

from catalog.accounts import Account
from catalog.catalog import Catalog
from catalog.tables import accounts
from tests.catalog.conftest import Clock, bytes_under


async def test_a_session_is_known_by_its_id_until_it_expires(catalog: Catalog, alice: Account, clock: Clock) -> None:
    session = await catalog.browser_sessions.begin(alice, lasts_s=100)
    clock.now += 99
    assert await catalog.browser_sessions.account_of(session) == alice
    clock.now += 1
    assert await catalog.browser_sessions.account_of(session) is None


async def test_an_id_of_ones_own_making_is_nobodys(catalog: Catalog, alice: Account) -> None:
    await catalog.browser_sessions.begin(alice, lasts_s=100)
    for made_up in ("", "x", "\udcff", "a" * 10_000):
        assert await catalog.browser_sessions.account_of(made_up) is None


async def test_every_login_has_an_id_of_its_own_that_lies_nowhere(
    catalog: Catalog, alice: Account, tmp_path: Path
) -> None:
    sessions = {await catalog.browser_sessions.begin(alice, lasts_s=100) for _ in range(3)}
    assert len(sessions) == 3
    assert not any(session.encode() in bytes_under(tmp_path) for session in sessions)


async def test_a_logout_ends_one_session_and_another_ends_them_all(catalog: Catalog, alice: Account) -> None:
    first, second, third = [await catalog.browser_sessions.begin(alice, lasts_s=100) for _ in range(3)]
    await catalog.browser_sessions.end(first)
    assert await catalog.browser_sessions.account_of(first) is None
    assert await catalog.browser_sessions.account_of(second) == alice
    await catalog.browser_sessions.end_all(alice)
    assert await catalog.browser_sessions.account_of(third) is None


async def test_an_account_that_is_gone_is_logged_in_nowhere(catalog: Catalog, alice: Account) -> None:
    session = await catalog.browser_sessions.begin(alice, lasts_s=100)
    async with catalog.accounts._database.writing() as connection:
        await connection.execute(delete(accounts))
    assert await catalog.browser_sessions.account_of(session) is None


async def test_an_account_that_is_disabled_is_logged_in_nowhere_until_it_is_enabled(
    catalog: Catalog, alice: Account
) -> None:
    session = await catalog.browser_sessions.begin(alice, lasts_s=100)
    await catalog.accounts.disable(alice.name)
    assert await catalog.browser_sessions.account_of(session) is None
    await catalog.accounts.enable(alice.name)
    assert await catalog.browser_sessions.account_of(session) == alice
