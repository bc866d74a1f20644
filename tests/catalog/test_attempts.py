"""Attempts that all servers count together: never more than the budget, and nothing of what was typed is kept."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from catalog.budgets import Budget
from catalog.catalog import Catalog, open_catalog
from tests.catalog.conftest import Clock, bytes_under

LIMIT = Budget(3, 30)


async def test_catalogs_over_one_database_count_together(catalog: Catalog, url: str, clock: Clock) -> None:
    async with open_catalog(url, now=clock) as other:
        taking = (each.attempts.take("logins", "alice", LIMIT) for _ in range(10) for each in (catalog, other))
        taken = await asyncio.gather(*taking)
    assert sum(each.granted for each in taken) == LIMIT.count


async def test_time_gives_back_and_so_does_success(catalog: Catalog, clock: Clock) -> None:
    for _ in range(3):
        assert (await catalog.attempts.take("logins", "alice", LIMIT)).granted
    refused = await catalog.attempts.take("logins", "alice", LIMIT)
    assert (refused.granted, refused.wait_s) == (False, pytest.approx(10))
    await catalog.attempts.take("logins", "alice", LIMIT, cost=-1)
    assert (await catalog.attempts.take("logins", "alice", LIMIT)).granted
    clock.now += 10
    assert (await catalog.attempts.take("logins", "alice", LIMIT)).granted


async def test_keys_and_kinds_have_budgets_of_their_own(catalog: Catalog) -> None:
    for _ in range(3):
        await catalog.attempts.take("logins", "alice", LIMIT)
    assert (await catalog.attempts.take("logins", "bob", LIMIT)).granted
    assert (await catalog.attempts.take("names", "alice", LIMIT)).granted


async def test_what_was_typed_is_not_kept_and_rows_go_when_they_say_nothing(
    catalog: Catalog, clock: Clock, tmp_path: Path
) -> None:
    for number in range(20):
        await catalog.attempts.take("names", f"pass-word-{number}", LIMIT)
    assert b"pass-word" not in bytes_under(tmp_path)
    clock.now += 31
    await catalog.attempts.take("names", "another", LIMIT)
    assert await catalog.attempts.count() == 1


async def test_a_key_may_be_any_text(catalog: Catalog) -> None:
    assert (await catalog.attempts.take("names", "\ud800\x00\n", LIMIT)).granted
