"""Having a server answer a query over its datasets, and check the proofs that it gave."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, BinaryIO, Final

import aiohttp
import orjson

from opendatafabric.attestation.document import KEYS_PATH, read_key_document
from opendatafabric.errors import (
    HashMismatch,
    InvalidSignature,
    OdfError,
    PeerUnavailable,
    error_from,
)
from opendatafabric.limits import HTTP_CONNECT_S_MAX, READ_CHUNK_BYTES

ARROW: Final = "application/vnd.apache.arrow.stream"
JSON: Final = "application/json"
ROWS_MAX: Final = 1_000_000
"""What is asked for where nobody says how much; servers give no more unless they are told to."""

_TIMEOUT: Final = aiohttp.ClientTimeout(total=None, sock_connect=HTTP_CONNECT_S_MAX)
_REFUSAL_BYTES_MAX: Final = 1024 * 1024


async def answer_into(
    sink: BinaryIO, repository: str, question: dict[str, Any], *, accept: str, headers: Mapping[str, str]
) -> None:
    """The server's answer, as it stands; ``headers`` say who asks.

    Raises:
        InvalidQuery and whatever else the server tells.
        PeerUnavailable: it did not answer.
    """
    async with _asked("POST", repository, "query", question, {**headers, "Accept": accept}) as response:
        async for piece in response.content.iter_chunked(READ_CHUNK_BYTES):
            sink.write(piece)
    sink.seek(0)


async def check_at_server(repository: str, raw: bytes, signer: str, headers: Mapping[str, str]) -> None:
    """Have the server ask again, and look whether it publishes the key of the proof.

    Raises:
        InvalidSignature: the key is none of that server.
        HashMismatch: the server answers otherwise, or has not what the answer was computed from.
        PeerUnavailable: it did not answer.
    """
    async with _asked("GET", repository, KEYS_PATH.lstrip("/"), None, headers) as response:
        keys = {each.key.did for each in read_key_document(await response.read())}
    if signer not in keys:
        raise InvalidSignature("the key of the proof is none of this server", expected=", ".join(keys), found=signer)
    answer = orjson.loads(raw)
    proof = {name: answer[name] for name in ("input", "subQueries", "commitment", "proof")}
    async with _asked("POST", repository, "verify", proof, headers) as response:
        await response.read()


@asynccontextmanager
async def _asked(
    method: str, repository: str, path: str, body: Any, headers: Mapping[str, str]
) -> AsyncIterator[aiohttp.ClientResponse]:
    url = f"{repository.removeprefix('odf+').rstrip('/')}/{path}"
    sent = {"Accept": JSON, **headers, "Content-Type": JSON}
    data = None if body is None else orjson.dumps(body)
    try:
        async with (
            aiohttp.ClientSession(timeout=_TIMEOUT) as session,
            session.request(method, url, data=data, headers=sent, allow_redirects=False) as response,
        ):
            if response.status != 200:
                raise _told(await response.content.read(_REFUSAL_BYTES_MAX), response.status)
            yield response
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise PeerUnavailable(f"the server did not answer: {error or type(error).__name__}") from None


def _told(raw: bytes, status: int) -> OdfError:
    """The server's error as ours."""
    try:
        told = orjson.loads(raw)
        if "error" in told and isinstance(told["error"], dict):
            fault = told["error"]
            return HashMismatch(f"{fault['kind']}: {fault['message']}", expected=fault.get("expected_hash"))
        if "code" in told:
            return error_from(told)
    except (ValueError, KeyError, TypeError):
        pass
    return PeerUnavailable(f"the server refused: {raw[:300].decode(errors='replace')}", found=f"status {status}")
