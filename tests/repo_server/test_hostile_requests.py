"""Requests that no client of good will sends: heads that are too large, line ends that would begin other headers,
bodies that say more than they are asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import orjson
import pytest
import pytest_asyncio

from repo_server.config import Tenancy
from repo_server.routes import DATASET_ROUTES, IPFS_ROUTES, NODE_ROUTES
from tests.repo_server.hosted import Hosted, a_chain, hosted

ANSWERS_S = 30
LINE_END = "%0d%0aX-Forged:%20yes%0d%0a%0d%0a"
READING = [
    ("/alice/open" if route in DATASET_ROUTES else "") + route.path.partition("{path")[0]
    for route in (*NODE_ROUTES, *IPFS_ROUTES, *DATASET_ROUTES)
    if route.method == "GET" and "{" in route.path
]


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Hosted]:
    folder = tmp_path_factory.mktemp("server")
    async with hosted(folder, Tenancy.MULTI, run_worker=False, ipfs_provider=True, writes_per_minute=0) as running:
        await running.add("open", a_chain())
        yield running


async def said(server: Hosted, request: bytes) -> bytes:
    """What comes back for bytes written by hand, until the server closes."""
    host, _, port = server.url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(request)
        return await asyncio.wait_for(reader.read(), ANSWERS_S)
    except ConnectionError:
        return b""
    finally:
        writer.close()


def head(*lines: bytes) -> bytes:
    return b"\r\n".join((b"GET /info HTTP/1.1", b"Host: x", *lines, b"Connection: close", b"", b""))


@pytest.mark.parametrize(
    "lines",
    [
        (b"X-Long: " + b"x" * 17_000,),
        (b"x" * 17_000 + b": long",),
        (b"Authorization: Bearer " + b"k" * 17_000,),
        (b"Cookie: " + b"a=b; " * 4_000,),
        tuple(b"X-Number-%d: x" % number for number in range(5_000)),
        (b"X-Folded: x\r\n y",),
        (b"X-Bare: x\ry",),
        (b"X-Zero: \x00",),
        (b"Transfer-Encoding: chunked", b"Content-Length: 3"),
        (b"Content-Length: 3", b"Content-Length: 4"),
        (b"Content-Length: -1",),
        (b"Host: y",),
    ],
    ids=lambda lines: lines[0][:20].decode("latin-1") if isinstance(lines, tuple) else str(lines),
)
async def test_a_head_that_is_too_large_or_means_two_things_is_refused(
    server: Hosted, lines: tuple[bytes, ...]
) -> None:
    answer = await said(server, head(*lines))
    assert not answer or answer.startswith((b"HTTP/1.1 4", b"HTTP/1.0 4")), answer[:100]


async def test_an_address_that_is_too_long_is_refused(server: Hosted) -> None:
    answer = await said(server, b"GET /" + b"a" * 17_000 + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert answer.startswith((b"HTTP/1.1 4", b"HTTP/1.0 4"))


async def test_a_refused_head_shows_nothing_of_the_server(server: Hosted) -> None:
    answer = await said(server, head(b"X-Long: " + b"x" * 17_000))
    assert b"Traceback" not in answer
    assert b"x" * 1_000 not in answer
    assert (await server.ask("GET", "/info")).status == 200


async def test_line_ends_in_a_path_begin_no_header(server: Hosted) -> None:
    for path in READING:
        filled = path.replace("{", "").replace("}", "")
        for target in (f"{filled}{LINE_END}", f"{filled}?after={LINE_END}&format={LINE_END}"):
            request = f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
            if not target.split("?")[0].endswith(("/pull", "/push", "/events")):
                lines = (await said(server, request.encode())).partition(b"\r\n\r\n")[0].lower().split(b"\r\n")
                assert not [line for line in lines if line.startswith(b"x-forged")], target


@pytest.mark.parametrize("name", ["X-Request-Id", "Last-Event-ID", "Range", "If-None-Match", "Upload-Offset", "Origin"])
@pytest.mark.parametrize("value", [b"\xff\xfe", b"'\"><script>", b"${jndi:x}", b"a" * 8_000, b"%0d%0aX-Forged: yes"])
async def test_a_header_of_a_stranger_comes_back_nowhere(server: Hosted, name: str, value: bytes) -> None:
    answer = await said(server, head(name.encode() + b": " + value))
    assert answer.startswith((b"HTTP/1.1 200", b"HTTP/1.1 4", b"HTTP/1.0 4"))
    assert value not in answer


MORE = {"isAdmin": True, "owner": "bob", "account": "bob", "visibility": "public", "foreign": False, "id": 7}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("alert", {"url": "https://example.org/x"}),
        ("gate", {"replay": False}),
        ("schedule?job=verify", {"cron": "0 6 * * *"}),
    ],
)
@pytest.mark.parametrize("more", MORE)
async def test_a_field_that_is_not_asked_for_is_refused(
    server: Hosted, path: str, body: dict[str, object], more: str
) -> None:
    sent = {**body, more: MORE[more]}
    headers = {"Content-Type": "application/json"}
    answer = await server.ask("PUT", f"/alice/open/{path}", who="alice", data=orjson.dumps(sent), headers=headers)
    assert answer.status in {400, 422}


async def test_a_login_takes_name_and_password_and_nothing_else_to_heart(server: Hosted) -> None:
    await server.catalog.accounts.set_password(server.accounts["bob"].name, "a long password")
    credentials = orjson.dumps({"login": "bob", "password": "a long password", "isAdmin": True}).decode()
    body = orjson.dumps({"loginMethod": "password", "loginCredentialsJson": credentials, "isAdmin": True})
    answer = await server.ask("POST", "/platform/login", data=body, headers={"Content-Type": "application/json"})
    token = orjson.loads(answer.body)["accessToken"]
    assert (await server.ask("GET", "/system/mirrors", who=token)).status == 403
