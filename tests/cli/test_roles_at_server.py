"""``odf role`` and ``odf visibility`` with ``--repo URL`` ask the server, as whoever is logged in there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from catalog.roles import Role
from catalog.visibility import Visibility
from opendatafabric.names import AccountName
from repo_server.config import Tenancy
from sync.credentials import save_token
from tests.cli.runner import Ran, odf
from tests.repo_server.hosted import Hosted, a_chain, hosted
from tests.storage.chains import dataset_id

SECRET = dataset_id(2)


@pytest.fixture
async def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Hosted]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    async with hosted(tmp_path / "served", Tenancy.MULTI, run_worker=False) as running:
        await running.add("secret", a_chain(2), Visibility.PRIVATE)
        yield running


async def run(server: Hosted, who: str, *words: object) -> Ran:
    save_token(server.url, server.tokens[who])
    return await asyncio.to_thread(odf, *words, "--repo", server.url)


async def test_roles_in_a_dataset_are_given_listed_and_taken(server: Hosted) -> None:
    await server.catalog.teams.set(server.accounts["alice"], AccountName("helpers"), [])
    place = ("--dataset", "alice/secret")
    for holder, role in (("bob", "maintainer"), ("team:helpers", "reader")):
        ran = await run(server, "alice", "role", "grant", holder, role, *place)
        assert (ran.code, ran.lines) == (0, [f"{holder} is {role} in alice/secret"])
    given = [{"holder": "bob", "role": "maintainer"}, {"holder": "team:helpers", "role": "reader"}]
    assert (await run(server, "bob", "role", "list", *place, "--json")).json() == given
    assert (await run(server, "bob", "role", "grant", "root", "owner", *place)).code != 0
    for holder in ("bob", "team:helpers"):
        assert (await run(server, "alice", "role", "revoke", holder, *place)).code == 0
    assert await server.catalog.roles.list(SECRET) == []


async def test_a_server_gives_no_roles_in_whole_accounts_here(server: Hosted) -> None:
    ran = await run(server, "alice", "role", "grant", "bob", "reader", "--account", "alice")
    assert (ran.code != 0, "--dataset" in ran.stderr) == (True, True)
    assert await server.catalog.roles.held(server.accounts["alice"].id, server.accounts["bob"]) is None


async def test_owners_set_visibility_and_those_who_may_read_see_it(server: Hosted) -> None:
    await server.catalog.roles.grant(SECRET, server.accounts["bob"], Role.READER)
    assert (await run(server, "alice", "visibility", "alice/secret", "unlisted")).lines == ["alice/secret: unlisted"]
    assert (await run(server, "bob", "visibility", "alice/secret")).lines == ["alice/secret: unlisted"]
    assert (await run(server, "bob", "visibility", "alice/secret", "public")).code != 0
    found = await server.catalog.datasets.find(SECRET)
    assert found is not None
    assert found.visibility is Visibility.UNLISTED
