"""``odf trust`` keeps publishers here and on a server; ``odf login --ci`` gets the token of a run exchanged."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from catalog.scopes import Scope
from cli.ci_login import token_of_run
from cli.trusts import KNOWN_ISSUERS, trust_of
from opendatafabric.errors import AccessDenied, AuthenticationRequired, MalformedInput, PeerUnavailable
from repo_server.config import Tenancy
from sync.credentials import save_token
from tests.cli.runner import Ran, odf
from tests.repo_server.hosted import Hosted, a_chain, hosted
from tests.repo_server.oidc.issuer import LocalIssuer, issuing

CLAIM = "repository=alice/weather"


class World:
    """A server with alice's dataset ``mine``, and a CI system."""

    def __init__(self, server: Hosted, issuer: LocalIssuer) -> None:
        self.server, self.issuer = server, issuer
        self.dataset = f"{server.url}/alice/mine"

    async def odf(self, *words: object) -> Ran:
        return await asyncio.to_thread(odf, *words)

    def variables(self, **claims: Any) -> dict[str, str]:
        """Those of a run on a system that puts its token into one."""
        said = {"aud": self.server.url, "repository": "alice/weather", **claims}
        return {"ODF_ID_TOKEN": self.issuer.token(**said)}


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    async with issuing() as issuer, hosted(tmp_path, Tenancy.MULTI, ci_issuers=issuer.address) as server:
        await server.add("mine", a_chain())
        token = await server.catalog.tokens.create(server.accounts["alice"], [Scope.DATASETS_MANAGE])
        save_token(server.url, token)
        yield World(server, issuer)


@pytest.mark.parametrize("where", ["here", "on the server"])
async def test_runs_are_trusted_listed_and_trusted_no_longer(world: World, where: str) -> None:
    folder = world.server.repository.root
    place = ["alice/mine", "--repo", folder] if where == "here" else [world.dataset]
    made = (
        await world.odf("trust", "add", *place, "--claim", CLAIM, "--issuer", world.issuer.address, "--json")
    ).json()
    assert isinstance(made, dict)
    assert made["claims"] == {"repository": "alice/weather"}
    assert (await world.odf("trust", "list", *place, "--json")).json() == [made]
    assert CLAIM in (await world.odf("trust", "list", *place)).stdout.decode()
    assert await token_of_run(world.server.url, world.variables())
    ref, *rest = place
    assert (await world.odf("trust", "remove", ref, made["id"], *rest)).code == 0
    assert (await world.odf("trust", "list", *place, "--json")).json() == []
    assert (await world.odf("trust", "remove", ref, made["id"], *rest)).code == 4


async def test_what_a_server_refuses_is_told_as_it_says(world: World) -> None:
    with pytest.raises(AccessDenied, match="no dataset here trusts"):
        await token_of_run(world.server.url, world.variables())
    ran = await world.odf("trust", "add", world.dataset, "--claim", "ref=refs/heads/main")
    assert (ran.code, "everybody at the issuer" in ran.stderr) == (3, True)


async def test_a_run_logs_in_and_its_token_is_kept(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.odf("trust", "add", world.dataset, "--claim", CLAIM, "--issuer", world.issuer.address)
    for name, value in world.variables().items():
        monkeypatch.setenv(name, value)
    assert (await world.odf("login", world.server.url, "--ci")).code == 0
    assert (await world.odf("trust", "list", world.dataset)).code == 6  # the token of the run is for pushes alone


@asynccontextmanager
async def github(answer: Any) -> AsyncIterator[dict[str, str]]:
    """The variables of a run there, and where it asks for its token; ``answer`` gets the audience put in."""

    async def asked(request: web.Request) -> web.Response:
        assert request.headers["Authorization"] == "Bearer of-the-run"
        assert request.query["api-version"] == "2.0"
        return web.json_response(answer(request.query["audience"]))

    application = web.Application()
    application.router.add_get("/", asked)
    async with TestServer(application) as running:
        url = str(running.make_url("/?api-version=2.0"))
        yield {"ACTIONS_ID_TOKEN_REQUEST_URL": url, "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "of-the-run"}


async def test_a_run_on_github_asks_for_its_token(world: World) -> None:
    await world.odf("trust", "add", world.dataset, "--claim", CLAIM, "--issuer", world.issuer.address)

    def answer(audience: str) -> dict[str, str]:
        return {"value": world.issuer.token(aud=audience, repository="alice/weather")}

    async with github(answer) as variables:
        token = await token_of_run(world.server.url, variables, dataset="alice/mine")
    assert (await world.server.ask("GET", "/alice/mine/refs/head", who=token)).status == 200


async def test_what_is_no_run_with_a_token_is_told_how_to_be_one() -> None:
    with pytest.raises(AuthenticationRequired, match="no token of its own"):
        await token_of_run("https://data.example.org", {})
    with pytest.raises(PeerUnavailable):
        await token_of_run("http://127.0.0.1:1", {"ODF_ID_TOKEN": "x"})


def test_systems_that_many_use_have_names() -> None:
    assert trust_of("github", [CLAIM], None).issuer == KNOWN_ISSUERS["github"]
    assert trust_of("https://ci.example.org", [CLAIM, "ref=a=b"], None).claims["ref"] == "a=b"
    with pytest.raises(MalformedInput):
        trust_of("github", ["repository"], None)
