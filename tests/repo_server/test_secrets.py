"""No secret leaves the server but to whom it belongs: a canary in every place, searched for in all that is printed.

The server is a process of its own that logs as much as it can; logs are read whole at the end.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from catalog.catalog import open_catalog
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import OdfError
from opendatafabric.multihash import physical_hash
from opendatafabric.names import AccountName
from repo_server.config import Settings
from storage.repository import Repository
from sync.pull import pull_dataset
from sync.push import push_dataset
from sync.remote import parse_remote
from sync.transfer import RepositoryTarget
from tests.source_tree import ROOT
from tests.storage.chains import ChainBuilder
from tests.sync.scenarios.stage import fill, history
from tests.sync.smart_server import memory_dataset

pytestmark = pytest.mark.slow

PASSWORD = "canary-of-a-password"


@dataclass
class Watched:
    """A server process; what it answered with an error is kept, what it printed is in ``log`` after its end."""

    url: str
    token: str
    refused: list[tuple[int, bytes]] = field(default_factory=list)
    log: bytes = b""

    async def ask(self, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes = b"") -> bytes:
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, self.url + path, headers=headers, data=body) as answer,
        ):
            content = await answer.read()
            if answer.status >= 400:
                self.refused.append((answer.status, content))
            return content

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.splitlines()]


@asynccontextmanager
async def watched(folder: Path) -> AsyncIterator[Watched]:
    Repository.init(folder)
    async with open_catalog(Settings(repo=folder).database_url) as catalog:
        account = await catalog.accounts.create(AccountName("alice"), password=PASSWORD)
        token = await catalog.tokens.create(account)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "cli.main", "serve", "--port", "0", "--repo", str(folder)),
        cwd=ROOT,
        env={**os.environ, "ODF_LOG_LEVEL": "DEBUG", "ODF_STOP_S": "1"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        found = Watched((await process.stdout.readline()).decode().strip(), token)
        yield found
        process.send_signal(signal.SIGTERM)
        out, err = await asyncio.wait_for(process.communicate(), 30)
        found.log = out + err
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def transfer(server: Watched, folder: Path) -> None:
    """A push and a pull that succeed, with the token in every address that is handed out."""
    local, remote = memory_dataset(), parse_remote(f"odf+{server.url}/alice/weather")
    builder: ChainBuilder = history()
    await fill(local, builder)
    async with aiohttp.ClientSession() as session:
        await push_dataset(session, local, remote, token=server.token)
        copy = RepositoryTarget(Repository.init(folder / "copy"), DatasetAlias.from_text("copy"))
        assert (await pull_dataset(session, remote, copy, token=server.token)).new_head == builder.head


async def log_in(server: Watched, password: str) -> bytes:
    credentials = json.dumps({"login": "alice", "password": password})
    body = json.dumps({"loginMethod": "password", "loginCredentialsJson": credentials}).encode()
    return await server.ask("POST", "/platform/login", {"Content-Type": "application/json"}, body)


def spellings_of(secret: str) -> set[bytes]:
    """A secret as it may appear: as it is, folded, without its prefix."""
    return {secret.encode(), secret.lower().encode(), secret.removeprefix("ka_").encode()}


def assert_unseen(printed: bytes, *secrets: str) -> None:
    for secret in secrets:
        for spelling in spellings_of(secret):
            assert spelling not in printed


async def test_a_token_and_a_password_are_in_no_line_of_the_log_and_in_no_error(tmp_path: Path) -> None:
    async with watched(tmp_path / "served") as server:
        await transfer(server, tmp_path)
        fresh = json.loads(await log_in(server, PASSWORD))["accessToken"]
        await log_in(server, PASSWORD + "-wrong")
        bearer = {"Authorization": f"Bearer {server.token}"}
        await server.ask("GET", f"/alice/nothing/refs/head?token={server.token}", bearer)
        await server.ask("GET", f"/{server.token}/weather/refs/head", bearer)
        await server.ask("GET", f"/datasets/{server.token}", bearer)
        await server.ask("GET", f"/alice/weather/data/{server.token}", bearer)
        await server.ask("PUT", f"/alice/weather/data/{physical_hash(b'x')}", bearer, b"other bytes")
        await server.ask("GET", "/alice/weather/push", bearer)
        await server.ask("GET", "/info", {"Authorization": f"Basic {server.token}"})
        await server.ask("GET", "/info", {"Authorization": f"Bearer {server.token} {server.token}"})
        await server.ask("POST", "/platform/login", {"Content-Type": "application/json"}, server.token.encode())
    assert len(server.refused) >= 8
    assert_unseen(server.log, server.token, fresh, PASSWORD)
    assert_unseen(b"".join(content for _, content in server.refused), server.token, fresh, PASSWORD)
    assert len(server.lines()) >= 10


async def test_a_password_and_a_new_token_are_seen_by_nobody_but_who_asked_for_them(tmp_path: Path) -> None:
    json_type = {"Content-Type": "application/json"}
    async with watched(tmp_path / "served") as server:
        own = json.loads(await log_in(server, PASSWORD))["accessToken"]
        bearer = {**json_type, "Authorization": f"Bearer {own}"}
        made = json.loads(await server.ask("POST", "/accounts/me/tokens", bearer, b'{"scopes": ["accounts:manage"]}'))
        other = "canary-of-another-password"
        for old, new in ((PASSWORD + "-wrong", other), (PASSWORD, "short7"), (PASSWORD, other)):
            body = json.dumps({"password": old, "newPassword": new}).encode()
            await server.ask("PUT", "/accounts/me/password", bearer, body)
        await server.ask("PUT", "/accounts/me/password", bearer, json.dumps({"password": {other: other}}).encode())
        await server.ask("DELETE", f"/accounts/me/tokens/{made['token']}", bearer)
        await server.ask(
            "POST", f"/accounts/me/tokens?{made['token']}", bearer, json.dumps({"scopes": [other]}).encode()
        )
    assert [status for status, _ in server.refused] == [403, 400, 400, 404, 400]
    assert_unseen(server.log, own, made["token"], PASSWORD, other, "short7")
    assert_unseen(b"".join(content for _, content in server.refused), own, made["token"], PASSWORD, "short7")


async def test_a_request_that_crashes_shows_its_trace_without_secrets_and_tells_the_client_nothing(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "served"
    async with watched(folder) as server:
        await transfer(server, tmp_path)
        [head] = folder.rglob("refs/head")
        head.write_bytes(b"\xff" + server.token.encode())
        await server.ask("GET", "/alice/weather/refs/head", {"Authorization": f"Bearer {server.token}"})
    [line] = [line for line in server.lines() if "exception" in line]
    assert "is damaged" in line["message"]
    assert_unseen(server.log, server.token)
    [(status, content)] = server.refused
    assert (status, content) == (500, b"")


async def answer_to(server: Watched, path: str, agent: str) -> bytes:
    """The answer to a request written by hand, as no client of good will would."""
    host, _, port = server.url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nUser-Agent: {agent}\r\nConnection: close\r\n\r\n".encode())
    try:
        return await asyncio.wait_for(reader.read(), 20)
    finally:
        writer.close()


async def test_line_ends_and_escapes_of_strangers_make_no_lines_of_their_own(tmp_path: Path) -> None:
    forged = '{"level":"CRITICAL","message":"forged"}'
    quoted = "".join(f"%{byte:02x}" for byte in f"\r\n\x1b[31m{forged}".encode())
    async with watched(tmp_path) as server:
        for path in (f"/{quoted}/x/refs/head", f"/alice/x/refs/{quoted}", f"/alice/{quoted}", f"/x?{quoted}"):
            assert (await answer_to(server, path, "x")).split()[1].startswith(b"4")
        assert (await answer_to(server, "/info", f"x\x1b[31m{forged}")).split()[1] == b"400"
        assert (await answer_to(server, "/info", f"x \u2028{forged}")).split()[1] in {b"200", b"400"}
    assert b"\x1b" not in server.log
    assert "CRITICAL" not in {line["level"] for line in server.lines()}


def test_a_password_in_an_address_is_not_repeated_in_errors(tmp_path: Path) -> None:
    with pytest.raises(OdfError) as caught:
        parse_remote(f"ftp://user:{PASSWORD}@example.org/x")
    assert PASSWORD not in str(caught.value)
