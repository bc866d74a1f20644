"""Logging in at an issuer: with a browser there and back, and by what a program got from it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from yarl import URL

from catalog.accounts import Account
from opendatafabric.names import AccountName
from repo_server.config import Tenancy
from tests.repo_server.browsing import Browser, browsing
from tests.repo_server.hosted import Answer, Hosted, hosted
from tests.repo_server.oidc.issuer import CLIENT, GOOD, SECRET, STRANGER, LocalIssuer, issuing

pytestmark = pytest.mark.slow

COOKIE = "odf-session"


class World:
    """A server that lets people log in at an issuer, and a browser."""

    def __init__(self, server: Hosted, issuer: LocalIssuer, browser: Browser) -> None:
        self.server, self.issuer, self.browser = server, issuer, browser

    async def sent_away(self, onward: str = "/v/login") -> URL:
        """Where the browser is sent."""
        answer = await self.browser.get(str(URL("/v/oidc/login").with_query(onward=onward)))
        assert answer.status == 303
        return URL(answer.headers["Location"])

    async def back(self, code: str, state: str, browser: Browser | None = None, **more: str) -> Answer:
        path = URL("/v/oidc/callback").with_query(code=code, state=state, **more)
        return await (browser or self.browser).get(str(path))

    async def logged_in(self) -> Answer:
        sent = await self.sent_away()
        return await self.back(self.issuer.sent_back(sent.query), sent.query["state"])

    async def who(self) -> Account | None:
        return await self.server.catalog.browser_sessions.account_of(self.browser.cookies[COOKIE])

    async def post_login(self, **credentials: str) -> Answer:
        body = {"loginMethod": "OAuth_GitHub", "loginCredentialsJson": orjson.dumps(credentials).decode()}
        headers = {"Content-Type": "application/json"}
        return await self.server.ask("POST", "/platform/login", data=orjson.dumps(body), headers=headers)


@asynccontextmanager
async def world_with(folder: Path, **settings: Any) -> AsyncIterator[World]:
    async with issuing() as issuer:
        given = {"oidc_issuer": issuer.address, "oidc_client_id": CLIENT, "oidc_client_secret": SECRET, **settings}
        async with hosted(folder, Tenancy.MULTI, **given) as server, browsing(server.url) as browser:
            yield World(server, issuer, browser)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with world_with(tmp_path) as made:
        yield made


async def test_a_person_is_sent_to_the_issuer_and_comes_back_logged_in(world: World) -> None:
    assert "Log in with single sign-on" in (await world.browser.get("/v/login")).text
    sent = await world.sent_away("/alice/open/reports")
    assert str(sent).startswith(f"{world.issuer.address}/authorization_endpoint?")
    assert (sent.query["client_id"], sent.query["code_challenge_method"]) == (CLIENT, "S256")
    before = world.browser.cookies[COOKIE]
    answer = await world.back(world.issuer.sent_back(sent.query), sent.query["state"], iss=world.issuer.address)
    assert (answer.status, answer.headers["Location"]) == (303, f"{world.server.url}/alice/open/reports")
    assert world.browser.cookies[COOKIE] != before
    account = await world.who()
    assert account is not None
    assert str(account.name) == "carol-k"
    [entry] = await world.server.catalog.audit.list()
    assert (entry.action, entry.details["account"]) == ("GET /v/oidc/callback", "carol-k")


async def test_who_comes_again_is_the_same_account_whatever_the_issuer_calls_it(world: World) -> None:
    await world.logged_in()
    first = await world.who()
    world.issuer.claims = {"preferred_username": "root", "nickname": None}
    await world.logged_in()
    assert await world.who() == first


async def test_a_name_that_is_taken_is_not_handed_over(world: World) -> None:
    world.issuer.claims = {"preferred_username": "Root"}
    await world.logged_in()
    account = await world.who()
    assert account is not None
    assert (str(account.name), account.is_admin) == ("root-2", False)


async def test_an_answer_that_was_not_asked_for_is_refused(world: World) -> None:
    sent = await world.sent_away()
    state, code = sent.query["state"], world.issuer.sent_back(sent.query)
    async with browsing(world.server.url) as other:
        assert (await world.back(code, state, other)).status == 401
        await other.get("/v/login")
        assert (await world.back(code, state, other)).status == 401
    for forged in ("", "x", state[:-1], "." + state.partition(".")[2], f"{state}\u00e9"):
        assert (await world.back(code, forged)).status == 401
    assert (await world.back(code, state, iss="https://other.example")).status == 401
    assert (await world.back("wrong", state)).status == 401
    assert (await world.browser.get(f"/v/oidc/callback?error=access_denied&state={state}")).status == 401
    assert (await world.back(code, state)).status == 303
    assert (await world.back(code, state)).status == 401


async def test_a_token_of_another_login_is_refused(world: World) -> None:
    world.issuer.claims = {"nonce": "another"}
    answer = await world.logged_in()
    assert (answer.status, "another login" in answer.text) == (401, True)
    world.issuer.claims = {"nonce": None}
    assert (await world.logged_in()).status == 401


async def test_an_issuer_that_signs_otherwise_lets_nobody_in(world: World) -> None:
    for claims in ({"aud": "other"}, {"exp": 1}, {"azp": "other"}, {"iss": "https://other.example"}):
        world.issuer.claims = claims
        assert (await world.logged_in()).status == 401
    assert await world.who() is None


async def test_only_those_with_the_claims_are_let_in(tmp_path: Path) -> None:
    settings = {"oidc_allowed_domains": "example.org", "oidc_required_claims": {"groups": "odf*"}}
    async with world_with(tmp_path, **settings) as world:
        mail = {"email": "carol@example.org", "email_verified": True}
        for claims in ({}, mail, {**mail, "groups": ["staff"]}, {**mail, "email_verified": False, "groups": ["odf"]}):
            world.issuer.claims = claims
            assert (await world.logged_in()).status == 403
        world.issuer.claims = {**mail, "groups": ["staff", "odf-users"]}
        assert (await world.logged_in()).status == 303


async def test_where_accounts_are_not_made_a_stranger_is_not_let_in(tmp_path: Path) -> None:
    async with world_with(tmp_path, oidc_create_accounts=False) as world:
        assert (await world.logged_in()).status == 403
        bob, catalog = AccountName("bobby"), world.server.catalog
        await catalog.external_identities.find_or_create(world.issuer.address, "1234", bob)
        assert (await world.logged_in()).status == 303


async def test_the_secret_may_lie_in_a_file_and_is_told_nowhere(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    settings = {"oidc_client_secret": None, "oidc_client_secret_file": tmp_path / "secret"}
    async with world_with(tmp_path, **settings) as world:
        assert (await world.logged_in()).status == 303
        assert SECRET not in repr(world.server.settings)
    async with world_with(tmp_path / "two", oidc_client_secret="wrong") as world:
        assert (await world.logged_in()).status == 401


async def test_a_program_logs_in_by_a_token_that_was_made_for_this_server(world: World) -> None:
    token = world.issuer.token(preferred_username="carol")
    answer = await world.post_login(accessToken=token)
    assert answer.status == 200
    mine = orjson.loads(answer.body)["accessToken"]
    assert b'"carol"' in (await world.server.ask("GET", "/accounts/me", who=mine)).body
    for other in (
        "opaque",
        world.issuer.token(aud="other"),
        world.issuer.token(STRANGER),
        world.issuer.token(GOOD, exp=1),
    ):
        assert (await world.post_login(accessToken=other)).status == 401
    assert (await world.post_login(code="never")).status == 401
    assert (await world.post_login(token=token)).status == 401


async def test_a_code_that_a_browser_asked_for_is_no_use_without_it(world: World) -> None:
    code = world.issuer.sent_back((await world.sent_away()).query)
    assert (await world.post_login(code=code)).status == 401


async def test_ways_to_log_in_are_told(multi: Hosted, tmp_path: Path) -> None:
    assert orjson.loads((await multi.ask("GET", "/ui-config")).body)["loginMethods"] == ["password"]
    assert (await multi.ask("GET", "/v/oidc/login")).status == 501
    assert "single sign-on" not in (await multi.ask("GET", "/v/login")).text
    async with world_with(tmp_path / "other") as world:
        told = orjson.loads((await world.server.ask("GET", "/ui-config")).body)
        assert told["loginMethods"] == ["password", "oauth_github"]
