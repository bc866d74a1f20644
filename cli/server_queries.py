"""Having a server answer a query over its datasets, and checking the proofs that it gave."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, BinaryIO, Final

import aiohttp
import orjson

from cli.credentials import headers_for
from opendatafabric.canonical_json import canonical_json, read_json_tokens
from opendatafabric.errors import (
    HashMismatch,
    InvalidSignature,
    MalformedInput,
    OdfError,
    PeerUnavailable,
    error_from,
)
from opendatafabric.limits import HTTP_CONNECT_S_MAX, READ_CHUNK_BYTES
from opendatafabric.multihash import physical_hash
from verify.attestation.document import KEYS_PATH, read_key_document
from verify.query_proof import check_signature, read_commitment, read_proof

ARROW: Final = "application/vnd.apache.arrow.stream"
JSON: Final = "application/json"
ROWS_MAX: Final = 1_000_000
"""What is asked for where nobody says how much; servers give no more unless they are told to."""

_TIMEOUT: Final = aiohttp.ClientTimeout(total=None, sock_connect=HTTP_CONNECT_S_MAX)
_REFUSAL_BYTES_MAX: Final = 1024 * 1024


async def answer_into(sink: BinaryIO, repository: str, question: dict[str, Any], *, accept: str) -> None:
    """The server's answer, as it stands.

    Raises:
        InvalidQuery and whatever else the server tells.
        PeerUnavailable: it did not answer.
    """
    async with _asked("POST", repository, "query", question, accept) as response:
        async for piece in response.content.iter_chunked(READ_CHUNK_BYTES):
            sink.write(piece)
    sink.seek(0)


def check_answer(raw: bytes) -> str:
    """The key that signed the answer in ``raw``: all hashes in it hold.

    Raises:
        MalformedInput: no answer with a proof.
        HashMismatch, InvalidSignature: a part of it is not what was signed.
    """
    answer = read_json_tokens(raw)
    try:
        commitment, proof = read_commitment(answer["commitment"]), read_proof(answer["proof"])
        parts = [(name, canonical_json(answer[name])) for name in ("input", "output", "subQueries")]
    except (KeyError, TypeError):
        raise MalformedInput("that is no answer with a proof", hint="odf sql --proof FILE makes one") from None
    hashes = (commitment.input_hash, commitment.output_hash, commitment.sub_queries_hash)
    for (name, text), expected in zip(parts, hashes, strict=True):
        if physical_hash(text) != expected:
            raise HashMismatch(f"the {name} is not what was signed", expected=expected, found=physical_hash(text))
    return check_signature(commitment, proof).did


async def check_at_server(repository: str, raw: bytes, signer: str) -> None:
    """Have the server ask again, and look whether it publishes the key of the proof.

    Raises:
        InvalidSignature: the key is none of that server.
        HashMismatch: the server answers otherwise, or has not what the answer was computed from.
        PeerUnavailable: it did not answer.
    """
    async with _asked("GET", repository, KEYS_PATH.lstrip("/"), None, JSON) as response:
        keys = {each.key.did for each in read_key_document(await response.read())}
    if signer not in keys:
        raise InvalidSignature("the key of the proof is none of this server", expected=", ".join(keys), found=signer)
    answer = orjson.loads(raw)
    proof = {name: answer[name] for name in ("input", "subQueries", "commitment", "proof")}
    async with _asked("POST", repository, "verify", proof, JSON) as response:
        await response.read()


@asynccontextmanager
async def _asked(
    method: str, repository: str, path: str, body: Any, accept: str
) -> AsyncIterator[aiohttp.ClientResponse]:
    url = f"{repository.removeprefix('odf+').rstrip('/')}/{path}"
    headers = {**headers_for(url), "Accept": accept, "Content-Type": JSON}
    data = None if body is None else orjson.dumps(body)
    try:
        async with (
            aiohttp.ClientSession(timeout=_TIMEOUT) as session,
            session.request(method, url, data=data, headers=headers, allow_redirects=False) as response,
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
