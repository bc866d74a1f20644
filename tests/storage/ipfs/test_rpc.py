"""The RPC of a node: what goes out, how every refusal is told, and that nobody is waited for without end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import aiohttp
import pytest

from opendatafabric.errors import (
    AccessDenied,
    AuthenticationRequired,
    LimitExceeded,
    MalformedIdentifier,
    NotFound,
    OdfError,
    ProtocolViolation,
    StorageError,
    StorageFull,
    TransientStorageError,
    UnsupportedOperation,
)
from opendatafabric.limits import RPC_ANSWER_BYTES_MAX
from storage.ipfs.rpc import KuboRpc, Upload
from storage.ipfs.rpc_errors import error_in
from tests.storage.ipfs.scripted_node import ScriptedNode, scripted, speaking

SECRET = "s3cr3t-token"


async def pieces_of(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def lines_of(rpc: KuboRpc, upload: Upload | None = None) -> list[object]:
    return [line async for line in rpc.lines("add", upload=upload)]


async def test_a_command_is_a_post_with_its_arguments_a_token_and_no_origin() -> None:
    node = ScriptedNode({"pin/ls": (200, b"{}")})
    async with scripted(node, token=SECRET) as rpc:
        assert await rpc.answer("pin/ls", (("arg", "a b&c"), ("arg", "d"))) == {}
    (request,) = node.requests
    assert (request.method, request.path) == ("POST", "/api/v0/pin/ls")
    assert request.query.getall("arg") == ["a b&c", "d"]
    assert request.headers["Authorization"] == f"Bearer {SECRET}"
    assert request.headers["Accept-Encoding"] == "identity"
    assert "Origin" not in request.headers


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (307, b"", StorageError),
        (400, b'{"Message":"invalid path","Code":1,"Type":"error"}', StorageError),
        (401, b"", AuthenticationRequired),
        (403, b"403 - Forbidden", AccessDenied),
        (404, b"404 page not found", UnsupportedOperation),
        (405, b"", StorageError),
        (429, b"", TransientStorageError),
        (500, b"", TransientStorageError),
        (500, b"<html>", TransientStorageError),
        (500, b'{"Message":"ipld: could not find bafkqaaa","Code":0,"Type":"error"}', NotFound),
        (500, b'{"Message":"could not resolve name","Code":0,"Type":"error"}', NotFound),
        (500, b'{"Message":"context deadline exceeded","Code":0,"Type":"error"}', TransientStorageError),
        (500, b'{"Message":"Failed to cat file: request timed out","Code":0}', TransientStorageError),
        (500, b'{"Message":"write blocks/x: no space left on device","Code":0}', StorageFull),
        (500, b'{"Message":"invalid cid: selected encoding not supported","Code":0}', StorageError),
        (503, b"", TransientStorageError),
    ],
)
async def test_every_refusal_has_its_error(status: int, body: bytes, error: type[OdfError]) -> None:
    async with scripted(ScriptedNode({"cat": (status, body)})) as rpc:
        with pytest.raises(error) as raised:
            await rpc.answer("cat")
    assert type(raised.value) is error


async def test_a_redirect_is_not_followed() -> None:
    node = ScriptedNode({"cat": (302, b"")})
    async with scripted(node) as rpc:
        with pytest.raises(StorageError, match="lead elsewhere"):
            await rpc.answer("cat")
    assert len(node.requests) == 1


async def test_what_a_node_says_goes_into_the_message_without_control_characters_and_not_without_end() -> None:
    body = b'{"Message":"bad\\u001b[31m\\nthing ' + b"x" * 5000 + b'","Code":0}'
    async with scripted(ScriptedNode({"cat": (500, body)})) as rpc:
        with pytest.raises(StorageError, match="bad") as raised:
            await rpc.answer("cat")
    assert "\x1b" not in raised.value.message
    assert "\n" not in raised.value.message
    assert len(raised.value.message) < 400


@pytest.mark.parametrize("body", [b"", b"[]", b"<html>", b'{"a":', b"1"])
async def test_an_answer_that_is_no_object_breaks_the_protocol(body: bytes) -> None:
    async with scripted(ScriptedNode({"id": (200, body)})) as rpc:
        with pytest.raises(ProtocolViolation):
            await rpc.answer("id")


async def test_an_answer_is_taken_up_to_the_limit() -> None:
    fits = b'{"a":"' + b"x" * (RPC_ANSWER_BYTES_MAX - 8) + b'"}'
    node = ScriptedNode({"id": (200, fits), "add": (200, b"x" * (RPC_ANSWER_BYTES_MAX + 1))})
    async with scripted(node) as rpc:
        assert len(str((await rpc.answer("id"))["a"])) == RPC_ANSWER_BYTES_MAX - 8
        with pytest.raises(ProtocolViolation):
            await rpc.answer("add")
        with pytest.raises(ProtocolViolation):
            await lines_of(rpc)


async def test_every_line_of_a_streamed_answer_is_read() -> None:
    async with scripted(ScriptedNode({"add": (200, b'{"n":1}\n\n{"n":2}\n{"n":3}')})) as rpc:
        assert await lines_of(rpc) == [{"n": 1}, {"n": 2}, {"n": 3}]


@pytest.mark.parametrize(
    "line",
    [
        b'{"Root":{"Cid":{"/":"bafkqaaa"},"PinErrorMsg":"block was not found locally (offline)"}}',
        b'{"Message":"ipld: could not find bafkqaaa","Code":0,"Type":"error"}',
    ],
)
async def test_an_error_inside_an_answer_of_status_200_is_one(line: bytes) -> None:
    async with scripted(ScriptedNode({"add": (200, b'{"n":1}\n' + line + b"\n"), "x": (200, line)})) as rpc:
        with pytest.raises(NotFound):
            await lines_of(rpc)
        with pytest.raises(NotFound):
            await rpc.answer("x")


def test_an_empty_pin_error_is_none() -> None:
    assert error_in({"Root": {"Cid": {"/": "bafkqaaa"}, "PinErrorMsg": ""}}) is None


async def test_an_answer_that_breaks_off_is_unavailable() -> None:
    async with speaking(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{"n":1}\n\r\n') as rpc:
        with pytest.raises(TransientStorageError):
            await lines_of(rpc)


async def test_a_node_that_is_not_there_is_unavailable(unused_tcp_port: int) -> None:
    async with aiohttp.ClientSession() as session:
        rpc = KuboRpc(session, f"kubo+http://127.0.0.1:{unused_tcp_port}", token=SECRET)
        with pytest.raises(TransientStorageError, match="did not answer") as raised:
            await rpc.answer("version")
    assert SECRET not in str(raised.value.as_dict())


@pytest.mark.parametrize("reads", [True, False])
async def test_a_node_that_hangs_is_given_up_in_time(reads: bool) -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield bytes(1 << 20)

    start = time.monotonic()
    async with speaking(b"", reads=reads, closes=False) as rpc:
        with pytest.raises(TransientStorageError, match="did not answer"):
            await rpc.answer("version")
        with pytest.raises(TransientStorageError, match="did not answer"):
            await lines_of(rpc, Upload("object", endless()))
    assert time.monotonic() - start < 10


async def test_a_node_that_falls_silent_in_mid_answer_is_given_up() -> None:
    raw = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{"n":1}\n\r\n'
    async with speaking(raw, closes=False) as rpc:
        with pytest.raises(TransientStorageError):
            await lines_of(rpc)


async def test_a_slow_source_is_no_fault_of_the_node() -> None:
    async def slow() -> AsyncIterator[bytes]:
        for _ in range(3):
            await asyncio.sleep(0.3)
            yield b"piece"

    node = ScriptedNode({"add": (200, b'{"n":1}')})
    async with scripted(node) as rpc:
        assert await lines_of(rpc, Upload("object", slow())) == [{"n": 1}]
    assert node.bodies[0].count(b"piece") == 3


async def test_an_upload_is_one_file_with_a_name_and_a_type() -> None:
    node = ScriptedNode({"add": (200, b'{"n":1}')})
    async with scripted(node) as rpc:
        await lines_of(rpc, Upload("tree.car", pieces_of(b"one", b"two")))
    assert b'name="file"; filename="tree.car"' in node.bodies[0]
    assert b"Content-Type: application/octet-stream" in node.bodies[0]
    assert b"\r\n\r\nonetwo\r\n" in node.bodies[0]


async def test_what_the_source_of_an_upload_raises_passes_through() -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"some"
        raise LimitExceeded("enough")

    async with scripted(ScriptedNode({"add": (200, b'{"n":1}')})) as rpc:
        with pytest.raises(LimitExceeded, match="enough"):
            await lines_of(rpc, Upload("object", broken()))


@pytest.mark.parametrize(
    "address",
    ["http://127.0.0.1:5001", "kubo://x", "kubo+http://", "kubo+http://[::1", "127.0.0.1:5001", ""],
)
def test_what_is_no_address_of_a_node_is_refused(address: str) -> None:
    with pytest.raises(MalformedIdentifier):
        KuboRpc(None, address)  # type: ignore[arg-type]


def test_an_address_with_a_secret_is_refused_and_not_repeated() -> None:
    with pytest.raises(MalformedIdentifier, match="holds a secret") as raised:
        KuboRpc(None, f"kubo+http://me:{SECRET}@127.0.0.1:5001")  # type: ignore[arg-type]
    assert SECRET not in str(raised.value.as_dict())
