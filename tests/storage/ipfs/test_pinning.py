"""The client of pinning services, against a server: what is asked, what is believed, what refusals mean."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web

from opendatafabric.errors import (
    AccessDenied,
    AuthenticationRequired,
    MalformedIdentifier,
    NotFound,
    OdfError,
    ProtocolViolation,
    StorageError,
    TransientStorageError,
)
from opendatafabric.ipfs.cid import cid_of_object
from opendatafabric.limits import RPC_ANSWER_BYTES_MAX
from opendatafabric.multihash import physical_hash
from storage.ipfs.pinning import PinningService, PinStatus
from tests.ipfs.pinning_service import TOKEN, FakeService, served

ONE, TWO = (cid_of_object(physical_hash(data)) for data in (b"one", b"two"))


@pytest.fixture
def fake() -> FakeService:
    return FakeService()


@pytest.fixture
async def service(fake: FakeService) -> AsyncIterator[PinningService]:
    async with served(fake) as address, aiohttp.ClientSession() as session:
        yield PinningService(session, address, token=TOKEN, silence_s=60)


async def test_a_tree_is_asked_for_with_its_name_and_where_it_is(service: PinningService, fake: FakeService) -> None:
    fake.status = "queued"
    pin = await service.add(ONE, name="weather", origins=["/dns4/here/tcp/4001"])
    assert (pin.cid, pin.status) == (ONE, PinStatus.QUEUED)
    assert fake.pins[pin.request_id] == {"cid": str(ONE), "name": "weather", "origins": ["/dns4/here/tcp/4001"]}


async def test_what_was_asked_for_is_found_again(service: PinningService, fake: FakeService) -> None:
    pin = await service.add(ONE, name="weather")
    fake.statuses[pin.request_id] = "failed"
    assert (await service.find(pin.request_id)).status is PinStatus.FAILED


async def test_one_tree_takes_the_place_of_another(service: PinningService, fake: FakeService) -> None:
    old = await service.add(ONE, name="weather")
    new = await service.replace(old.request_id, TWO, name="weather")
    assert list(fake.pins) == [new.request_id]
    with pytest.raises(NotFound):
        await service.replace(old.request_id, ONE, name="weather")


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, StorageError),
        (401, AuthenticationRequired),
        (403, AccessDenied),
        (404, NotFound),
        (409, StorageError),
        (429, TransientStorageError),
        (500, TransientStorageError),
        (503, TransientStorageError),
        (302, StorageError),
    ],
)
async def test_a_refusal_is_told_with_its_reason(
    service: PinningService, fake: FakeService, status: int, expected: type[OdfError]
) -> None:
    error = {"error": {"reason": "NO_FUNDS", "details": "the account is empty\x1b[31m"}}
    fake.refuses = web.json_response(error, status=status, headers={"Location": "/psa/pins"})
    with pytest.raises(expected, match="NO_FUNDS the account is empty") as caught:
        await service.add(ONE, name="weather")
    assert "\x1b" not in caught.value.message
    assert len(fake.asked) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b"{}",
        b'{"requestid": "a", "status": "asleep", "pin": {"cid": "bafkqaaa"}}',
        b'{"requestid": "../x", "status": "pinned", "pin": {"cid": "bafkqaaa"}}',
        b'{"requestid": 7, "status": "pinned", "pin": {"cid": "bafkqaaa"}}',
        b'{"requestid": "a", "status": "pinned", "pin": {"cid": "no cid"}}',
        b'{"requestid": "a", "status": "pinned", "pin": "bafkqaaa"}',
        b" " * (RPC_ANSWER_BYTES_MAX + 1),
    ],
    ids=lambda body: body[:60].decode(),
)
async def test_what_is_no_answer_of_a_service_is_told(service: PinningService, fake: FakeService, body: bytes) -> None:
    fake.refuses = web.Response(status=202, body=body)
    with pytest.raises(ProtocolViolation):
        await service.add(ONE, name="weather")


async def test_a_service_that_is_away_or_silent_may_be_asked_again() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with aiohttp.ClientSession() as session:
        service = PinningService(session, f"pin+http://127.0.0.1:{port}/psa", token=TOKEN, silence_s=0.2)
        for _ in range(2):
            with pytest.raises(TransientStorageError, match="did not answer") as caught:
                await service.find("request-1")
            assert TOKEN not in str(caught.value.as_dict())
            server.close()


@pytest.mark.parametrize(
    "address", ["https://a", "pin+https://", "pin+https://user:secret@a/", "pin+https://a:port/", "pin+ftp://a"]
)
async def test_what_is_no_address_of_a_service_is_refused(address: str) -> None:
    async with aiohttp.ClientSession() as session:
        with pytest.raises(MalformedIdentifier) as caught:
            PinningService(session, address)
    assert "secret@" not in str(caught.value.as_dict())
