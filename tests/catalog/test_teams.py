"""Teams: named sets of accounts within an account."""

from __future__ import annotations

import pytest

from catalog.accounts import Account
from catalog.catalog import Catalog
from opendatafabric.errors import NotFound
from opendatafabric.names import AccountName

NAME = AccountName("Developers")


async def test_a_team_has_exactly_the_members_it_was_given_last(catalog: Catalog, alice: Account, bob: Account) -> None:
    for members in ([bob, alice, bob], [bob], []):
        team = await catalog.teams.set(alice, NAME, members)
        assert await catalog.teams.members(team) == sorted({each.name for each in members}, key=str)
    assert await catalog.teams.list(alice) == [team]


async def test_a_team_is_found_in_its_account_alone_in_whatever_case(
    catalog: Catalog, alice: Account, bob: Account
) -> None:
    team = await catalog.teams.set(alice, NAME, [])
    assert await catalog.teams.find(alice, AccountName("developers")) == team
    with pytest.raises(NotFound, match="bob has no team Developers"):
        await catalog.teams.find(bob, NAME)
    other = await catalog.teams.set(bob, NAME, [])
    assert other != team


async def test_a_team_that_is_removed_is_gone(catalog: Catalog, alice: Account, bob: Account) -> None:
    await catalog.teams.remove(await catalog.teams.set(alice, NAME, [bob]))
    assert await catalog.teams.list(alice) == []
    with pytest.raises(NotFound):
        await catalog.teams.find(alice, NAME)
