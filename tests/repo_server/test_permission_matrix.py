"""Every route as every kind of caller, for datasets of every visibility, over HTTP: what comes back is what the table
written by hand says. A route that the table does not have fails, so does a cell that differs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import aiohttp

from catalog.roles import Role
from catalog.scopes import Scope
from catalog.visibility import Visibility
from opendatafabric.names import AccountName
from repo_server.config import Tenancy
from tests.repo_server.hosted import SMALL, Answer, Hosted, a_chain, hash_of, hosted
from tests.repo_server.permission_table import (
    DATASET_CALLERS,
    DATASET_PROBES,
    NODE_CALLERS,
    NODE_PROBES,
    STAGING,
    VISIBILITIES,
    Expected,
    Probe,
    expected,
    expected_at_node,
)

_AT_ONCE: Final = 8
_READ_S_MAX: Final = 60
_HOLDERS: Final = {
    "reader": Role.READER,
    "writer": Role.WRITER,
    "maintainer": Role.MAINTAINER,
    "co-owner": Role.OWNER,
}
_SOCKETS: Final = frozenset({"/pull", "/push"})

Tokens = Mapping[str, str | None]


def test_the_table_knows_every_visibility() -> None:
    assert set(VISIBILITIES) == {each.value for each in Visibility} | {"absent"}


@asynccontextmanager
async def peopled(folder: Path, tenancy: Tenancy) -> AsyncIterator[tuple[Hosted, Tokens]]:
    """A server with a dataset of each visibility, all verified once, and a token of every kind of caller."""
    unlimited = dict.fromkeys(("writes_per_minute", "bad_tokens_per_minute", "failed_logins_per_5_minutes"), 0)
    async with hosted(folder, tenancy, ipfs_provider=True, run_worker=False, **unlimited) as server:
        tokens = await _tokens(server)
        for number, visibility in enumerate(Visibility):
            chain = a_chain(number)
            await server.add(visibility.value, chain, visibility)
            for name, role in _HOLDERS.items():
                await server.catalog.roles.grant(chain.id, server.accounts[name], role)
            path = f"{server.path(visibility.value)}/verify"
            assert (await server.ask("POST", path, who="alice")).status == 202
            await _read_once(server, server.path(visibility.value))
        yield server, tokens


async def _read_once(server: Hosted, path: str) -> None:
    """Until its chain was read there is no page of a dataset, whoever asks."""
    async with asyncio.timeout(_READ_S_MAX):
        while (await server.ask("GET", path, who="alice")).status != 200:
            pass


async def _tokens(server: Hosted) -> Tokens:
    catalog, alice = server.catalog, server.accounts["alice"]
    for name in (*_HOLDERS, "member"):
        server.accounts[name] = await catalog.accounts.create(AccountName(name))
    team = await catalog.teams.set(alice, AccountName("helpers"), [server.accounts["member"]])
    await catalog.roles.grant(alice.id, team, Role.WRITER)
    who = {"other": "bob", "team-in-account": "member", "owner": "alice", "admin": "root"}
    who |= {name: name for name in _HOLDERS}
    tokens: dict[str, str | None] = {caller: await server.token(name) for caller, name in who.items()}
    for scope in (Scope.DATASETS_READ, Scope.DATASETS_PUSH, Scope.ACCOUNTS_MANAGE):
        tokens[f"owner:{scope.value}"] = await server.token("alice", scope)
    tokens["admin:datasets:manage"] = await server.token("root", Scope.DATASETS_MANAGE)
    tokens["owner:elsewhere"] = await server.bound_token("alice", "alice/elsewhere", "nobody/*")
    tokens["expired"] = await catalog.tokens.create(alice, tuple(Scope), expires_at=1.0)
    tokens["revoked"] = await server.token("alice")
    await catalog.tokens.revoke((await catalog.tokens.list(alice))[-1].id)
    return {**tokens, "anonymous": None}


async def ask(server: Hosted, token: str | None, method: str, path: str, probe: Probe) -> Answer:
    headers = {**server.as_(token), **probe.headers}
    if not any(path.endswith(end) for end in _SOCKETS):
        return await server.ask(method, path, who=token, data=probe.body, headers=probe.headers)
    try:
        async with server.session.ws_connect(server.url + path, headers={**headers, "x-odf-smtp-version": "1"}):
            return Answer(101, {}, b"")
    except aiohttp.WSServerHandshakeError as error:
        return Answer(error.status, error.headers or {}, b"")


def wrong(answer: Answer, wanted: Expected, probe: Probe) -> str | None:
    """What is wrong with an answer."""
    if answer.status != wanted.status:
        return f"{answer.status}, expected {wanted.status}"
    if probe.says and (probe.says in answer.text) != wanted.let_through:
        return "was refused by the handler" if not wanted.let_through else "was refused before the handler"
    if answer.status == 401 and 'error="' not in answer.headers.get("WWW-Authenticate", ""):
        return "does not say which rule refused"
    return None


async def test_every_route_answers_every_caller_at_every_dataset_as_the_table_says(
    tmp_path: Path, tenancy: Tenancy
) -> None:
    limit = asyncio.Semaphore(_AT_ONCE)
    async with peopled(tmp_path, tenancy) as (server, tokens):
        physical_hash = str(hash_of(SMALL, a_chain()))

        async def cell(route: str, probe: Probe, caller: str, visibility: str) -> str | None:
            method, _, path = route.partition(" ")
            place = server.path(visibility) + (probe.path or path).format(hash=physical_hash)
            wanted = expected(probe, caller, visibility, accounts=server.settings.multi_tenant)
            async with limit:
                answer = await ask(server, tokens[caller], method, place, probe)
            problem = wrong(answer, wanted, probe)
            return problem and f"{route} as {caller}, {visibility}: {problem} {answer.body[:100]!r}"

        probes = [*DATASET_PROBES.items(), ("GET /refs/{ref}", STAGING)]
        cells = [
            cell(route, probe, caller, visibility)
            for route, probe in probes
            for caller in DATASET_CALLERS
            for visibility in VISIBILITIES
        ]
        failures = [each for each in await asyncio.gather(*cells) if each]
    assert not failures, "\n".join(failures[:50])


async def test_every_route_of_the_node_answers_every_caller_as_the_table_says(tmp_path: Path, tenancy: Tenancy) -> None:
    async with peopled(tmp_path, tenancy) as (server, tokens):
        failures = []
        for route, probe in NODE_PROBES.items():
            method, _, path = route.partition(" ")
            for caller in NODE_CALLERS:
                answer = await ask(server, tokens[caller], method, probe.path or path, probe)
                problem = wrong(answer, expected_at_node(probe, caller), probe)
                failures += [f"{route} as {caller}: {problem}"] if problem else []
    assert not failures, "\n".join(failures)
