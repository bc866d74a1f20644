"""What is no HTTP, or too long, is refused cleanly, and nothing of it comes back or is logged."""

from __future__ import annotations

import asyncio
import logging
from urllib.parse import urlsplit

import pytest

from opendatafabric.server_limits import HEADER_BYTES_MAX
from tests.repo_server.hosted import Hosted

SECRET = "s3cr3t" * 10


async def sent(server: Hosted, request: bytes) -> bytes:
    """All that comes back."""
    place = urlsplit(server.url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    writer.write(request)
    await writer.drain()
    async with asyncio.timeout(30):
        answer = await reader.read()
    writer.close()
    return answer


@pytest.mark.parametrize(
    ("request_text", "status"),
    [
        (f"GET /info HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {SECRET * 400}\r\n\r\n", 431),
        (f"GET /info HTTP/1.1\r\nHost: a\r\n{SECRET * 400}: b\r\n\r\n", 431),
        (f"GET /{SECRET * 400} HTTP/1.1\r\nHost: a\r\n\r\n", 431),
        (f"GET /info HTTP/1.1\r\nHost: a\r\nAuthorization Bearer {SECRET}\r\n\r\n", 400),
        (f"{SECRET}\r\n\r\n", 400),
    ],
    ids=("value", "name", "path", "no header", "no request"),
)
async def test_a_request_that_is_too_long_or_none_is_refused_without_its_words(
    multi: Hosted, request_text: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        answer = await sent(multi, request_text.encode())
    assert answer.split(b" ", 2)[1] == str(status).encode()
    assert SECRET not in answer.decode() + caplog.text
    assert len(answer) < 1_000


async def test_the_longest_header_that_is_taken_is_taken(multi: Hosted) -> None:
    head = "GET /info HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Long: "
    answer = await sent(multi, (head + "x" * (HEADER_BYTES_MAX - 100) + "\r\n\r\n").encode())
    assert answer.split(b" ", 2)[1] == b"200"
