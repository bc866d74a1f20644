"""A node of a chain, asked by JSON-RPC over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, Final

import aiohttp
import orjson

from opendatafabric.errors import LimitExceeded, PeerRefusal, PeerUnavailable, ProtocolViolation
from opendatafabric.limits import READ_CHUNK_BYTES
from opendatafabric.source_limits import ETHEREUM_ANSWER_BYTES_MAX, FETCH_SILENCE_S_MAX
from pipeline.fetch.fetched import FetchOptions
from pipeline.fetch.places import refusal, sockets_for

_TIMEOUT: Final = aiohttp.ClientTimeout(
    total=5 * FETCH_SILENCE_S_MAX, sock_connect=FETCH_SILENCE_S_MAX, sock_read=FETCH_SILENCE_S_MAX
)


class Node:
    """``place`` names it in errors."""

    def __init__(self, session: aiohttp.ClientSession, url: str, place: str) -> None:
        self._session, self._url, self._place = session, url, place
        self._numbers = count(1)

    async def chain_id(self) -> int:
        """Which chain it serves."""
        return number_of(await self.ask("eth_chainId"))

    async def block(self, number: int | None) -> tuple[int, str]:
        """Number and hash of a block, the newest by default.

        Raises:
            ProtocolViolation: the node does not have it.
        """
        found = await self.ask("eth_getBlockByNumber", "latest" if number is None else hex(number), False)
        if not isinstance(found, dict):
            raise ProtocolViolation(f"the node {self._place} has no block {number}")
        return number_of(found.get("number")), bytes_of(found.get("hash"), 32).hex()

    async def ask(self, method: str, *parameters: object) -> Any:
        """The result.

        Raises:
            PeerRefusal, PeerUnavailable, ProtocolViolation, LimitExceeded: there is none.
        """
        asked = {"jsonrpc": "2.0", "id": next(self._numbers), "method": method, "params": parameters}
        async with self._session.post(self._url, json=asked, allow_redirects=False) as answer:
            if answer.status != 200:
                raise PeerUnavailable(f"the node {self._place} answered {answer.status}", expected="200")
            told = await asyncio.to_thread(_parsed, await self._body(answer), self._place)
        if "error" in told:
            error = told["error"]
            code = error.get("code") if isinstance(error, dict) else None
            raise PeerRefusal(f"the node {self._place} refuses {method}", found=f"code {code}")
        return told.get("result")

    async def _body(self, answer: aiohttp.ClientResponse) -> bytes:
        body = bytearray()
        async for piece in answer.content.iter_chunked(READ_CHUNK_BYTES):
            body += piece
            if len(body) > ETHEREUM_ANSWER_BYTES_MAX:
                raise LimitExceeded(
                    f"the node {self._place} says too much", expected=f"at most {ETHEREUM_ANSWER_BYTES_MAX} bytes"
                )
        return bytes(body)


@asynccontextmanager
async def open_node(url: str, place: str, options: FetchOptions) -> AsyncIterator[Node]:
    """The node at the resolved ``url``, while the context lasts.

    Raises:
        AccessDenied: it lies where this poll may not look.
        PeerUnavailable: it did not answer.
    """
    sockets = sockets_for(options)
    try:
        async with aiohttp.ClientSession(connector=sockets.connector(), timeout=_TIMEOUT) as session:
            yield Node(session, url, place)
    except (aiohttp.ClientError, TimeoutError) as error:
        refused = refusal(sockets, place)
        raise refused or PeerUnavailable(f"the node {place} cannot be asked: {type(error).__name__}") from None


def number_of(value: object) -> int:
    """A quantity of the node's interface.

    Raises:
        ProtocolViolation: it is none of 64 bits.
    """
    try:
        found = int(value, 16) if isinstance(value, str) and value.startswith("0x") else -1
    except ValueError:
        found = -1
    if not 0 <= found < 1 << 64:
        raise ProtocolViolation("the node says what is no number", found=str(value)[:50])
    return found


def bytes_of(value: object, size: int | None = None) -> bytes:
    """Data of the node's interface.

    Raises:
        ProtocolViolation: they are none, or not so many.
    """
    try:
        found = bytes.fromhex(value[2:]) if isinstance(value, str) and value.startswith("0x") else None
    except ValueError:
        found = None
    if found is None or (size is not None and len(found) != size):
        raise ProtocolViolation("the node says what are no bytes", found=str(value)[:50])
    return found


def _parsed(body: bytes, place: str) -> dict[str, Any]:
    try:
        told = orjson.loads(body)
    except orjson.JSONDecodeError:
        told = None
    if not isinstance(told, dict) or not told.keys() & {"result", "error"}:
        raise ProtocolViolation(f"the node {place} does not speak JSON-RPC")
    return told
