"""One message to a receiver that may be slow, broken, hostile or not where it says."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from catalog.catalog import Catalog, open_catalog
from catalog.sqlite_files import sqlite_url
from catalog.webhook_schedule import Attempt, Standing
from catalog.webhooks import NewWebhook, Reach, Webhook
from opendatafabric.attestation.keys import PublicKey
from repo_server.webhooks.message_signatures import NODE_TAG
from repo_server.webhooks.sending import Sender
from tests.repo_server.webhooks.receiver import Receiver, checked, receiving
from tests.storage.test_public_addresses import Rebinding

BODY = b'{"specversion":"1.0"}'


@pytest.fixture
async def catalog(tmp_path: Path) -> AsyncIterator[Catalog]:
    async with open_catalog(sqlite_url(tmp_path / "catalog.sqlite")) as opened:
        yield opened


@pytest.fixture
def sender(catalog: Catalog, tmp_path: Path) -> Sender:
    return Sender(tmp_path / "key", catalog.attestation_keys, lambda: 1_700_000_000.0)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as found:
        yield found


def webhook_at(url: str, **wanted: object) -> Webhook:
    new = replace(NewWebhook(url, Reach.ALL, None), **wanted)  # type: ignore[arg-type]
    return Webhook("the-webhook", new, Standing(0, 0.0), 0.0)


async def sent(sender: Sender, url: str, *, private_places: bool = True) -> Attempt:
    return await sender.send(webhook_at(url), BODY, private_places=private_places)


async def test_it_comes_as_it_was_sent_signed_by_the_published_key(
    sender: Sender, receiver: Receiver, catalog: Catalog
) -> None:
    now = replace(sender, now=time.time)
    attempt = await sent(now, receiver.address + "?a=b#fragment")
    assert (attempt.taken, attempt.status, attempt.failure) == (True, 204, None)
    (heard,) = receiver.heard
    (key,) = await catalog.attestation_keys.list()
    parameters = checked(heard, Ed25519PublicKey.from_public_bytes(PublicKey.from_did(key.did).raw), tag=NODE_TAG)
    assert (parameters["keyid"], heard.body) == (key.did, BODY)
    assert heard.headers["Content-Type"] == "application/cloudevents+json"
    assert heard.url.endswith("/hooks/s3cr3t?a=b")


async def test_a_password_in_the_address_goes_where_passwords_go(sender: Sender, receiver: Receiver) -> None:
    await sent(sender, receiver.address.replace("http://", "http://me:s3cr3t@"))
    assert receiver.heard[0].headers["Authorization"] == "Basic bWU6czNjcjN0"


@pytest.mark.parametrize("status", [400, 404, 410, 500, 503])
async def test_what_it_answers_is_told(sender: Sender, receiver: Receiver, status: int) -> None:
    receiver.answers = [status]
    attempt = await sent(sender, receiver.address)
    assert (attempt.taken, attempt.status, attempt.told) == (False, status, f"it answered {status}")


@pytest.mark.parametrize(
    ("retry_after", "seconds"), [("30", 30.0), ("Tue, 14 Nov 2023 22:14:20 GMT", 60.0), ("soon", None), ("-1", None)]
)
async def test_when_it_wants_to_be_asked_again_is_told(
    sender: Sender, receiver: Receiver, retry_after: str, seconds: float | None
) -> None:
    async def busy(_: web.Request) -> web.Response:
        return web.Response(status=429, headers={"Retry-After": retry_after})

    receiver.answers = [busy]
    assert (await sent(sender, receiver.address)).retry_after_s == seconds


async def test_a_redirect_is_not_followed(sender: Sender, receiver: Receiver) -> None:
    async def elsewhere(_: web.Request) -> web.Response:
        return web.Response(status=307, headers={"Location": "http://169.254.169.254/latest"})

    receiver.answers = [elsewhere]
    attempt = await sent(sender, receiver.address)
    assert (attempt.taken, attempt.status, len(receiver.heard)) == (False, 307, 1)
    assert "redirect" in attempt.told


async def test_who_refuses_connections_cannot_be_reached(sender: Sender) -> None:
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))  # nobody listens there
        attempt = await sent(sender, f"http://127.0.0.1:{unheard.getsockname()[1]}/hooks/s3cr3t")
    assert (attempt.status, attempt.told) == (None, "it cannot be reached")


async def test_who_does_not_answer_is_not_waited_for(sender: Sender, receiver: Receiver) -> None:
    asked = asyncio.Event()

    async def never(_: web.Request) -> web.Response:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    receiver.answers = [never]
    attempt = await sent(replace(sender, seconds_max=0.5), receiver.address)
    assert (attempt.status, attempt.told) == (None, "it did not answer in 0.5 s")


async def test_an_answer_without_end_is_not_read(sender: Sender, receiver: Receiver) -> None:
    written = 0

    async def endless(request: web.Request) -> web.StreamResponse:
        nonlocal written
        response = web.StreamResponse()
        await response.prepare(request)
        while True:  # until nobody is there any more
            await response.write(bytes(65_536))
            written += 65_536

    receiver.answers = [endless]
    assert (await sent(sender, receiver.address)).taken
    assert written < 64 * 1024 * 1024


async def test_what_is_no_http_is_a_failure(sender: Sender) -> None:
    async def nonsense(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"nonsense\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(nonsense, "127.0.0.1", 0) as server:
        attempt = await sent(sender, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/s3cr3t")
    assert attempt.status is None
    assert "s3cr3t" not in attempt.told


async def test_a_stranger_reaches_no_host_of_ours(sender: Sender, receiver: Receiver) -> None:
    for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]"):
        attempt = await sent(sender, receiver.address.replace("127.0.0.1", host), private_places=False)
        assert (attempt.status, attempt.told) == (None, "its address is not public")
    assert receiver.heard == []


async def test_a_name_that_leads_elsewhere_the_second_time_does_not_lead_there(
    sender: Sender, receiver: Receiver
) -> None:
    rebinding = Rebinding(int(receiver.address.split(":")[2].split("/")[0]))
    await rebinding.addresses("rebinding.example")
    attempt = await sent(replace(sender, resolver=rebinding), "http://rebinding.example/", private_places=False)
    assert (attempt.told, receiver.heard) == ("its address is not public", [])


async def test_where_no_key_is_known_nothing_is_signed_but_by_a_secret(
    sender: Sender, receiver: Receiver, catalog: Catalog
) -> None:
    unsigned = replace(sender, key_path=None)
    await sent(unsigned, receiver.address)
    await unsigned.send(webhook_at(receiver.address, secret="a secret"), BODY, private_places=True)
    assert [heard.headers.get("Signature", "").partition("=")[0] for heard in receiver.heard] == ["", "secret"]
    assert await catalog.attestation_keys.list() == []
