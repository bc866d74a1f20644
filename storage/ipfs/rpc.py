"""The RPC of an IPFS node, as Kubo and js-ipfs speak it: POST alone, small JSON, lines of JSON, or bytes.

Nothing is retried here; errors say whether that could help. Neither redirects nor content codings are taken, and no
``Origin`` is sent, which nodes refuse. A node may fail after it said 200: then it ends with the trailer
``X-Stream-Error``, which the HTTP library drops. So whoever reads a streamed answer holds it against what it must
contain: the length of a file, the root of an import. What the commands mean is not known here: see ``node.py``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import aiohttp
import orjson
from yarl import URL

from opendatafabric.errors import MalformedIdentifier, ProtocolViolation, TransientStorageError
from opendatafabric.limits import (
    HTTP_CONNECT_S_MAX,
    HTTP_SILENCE_S_MAX,
    IPFS_WORK_S_MAX,
    READ_CHUNK_BYTES,
    RPC_ANSWER_BYTES_MAX,
)
from storage.ipfs.rpc_errors import error_in, failure, refusal

SCHEMES: Final = ("kubo+http", "kubo+https")
"""Addresses of an RPC, so that they are not taken for a gateway or a repository."""

Arguments = Sequence[tuple[str, str]]
Line = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a node may be silent, in seconds: while connecting, in the middle, and at work that takes its time."""

    connect_s: float = HTTP_CONNECT_S_MAX
    silence_s: float = HTTP_SILENCE_S_MAX
    work_s: float = IPFS_WORK_S_MAX


@dataclass(frozen=True, slots=True)
class Upload:
    """One file that goes with a command; its bytes as they come."""

    name: str
    pieces: AsyncIterator[bytes]


_DEFAULTS: Final = Patience()


class KuboRpc:
    """Commands to the node at ``address`` (``kubo+http://host:port``); ``token`` goes into a header, nowhere else."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        address: str,
        *,
        token: str | None = None,
        patience: Patience = _DEFAULTS,
    ) -> None:
        self._session = session
        self._base = _base_url(address)
        self._headers = {"Accept-Encoding": "identity"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._patience = patience

    @property
    def silence_s(self) -> float:
        """How long the node may look for something before it must say that it has it not."""
        return self._patience.silence_s

    async def answer(self, command: str, arguments: Arguments = (), *, works: bool = False) -> Line:
        """The one JSON object that a command answers with; ``works`` when it may take its time.

        Raises:
            TransientStorageError: no answer, or a failure that may pass.
            StorageError, StorageFull, NotFound, UnsupportedOperation, AuthenticationRequired, AccessDenied: as it says.
            ProtocolViolation: no JSON object, or too much.
        """
        async with self._post(command, arguments, works=works) as response:
            body = await _read_up_to(response, RPC_ANSWER_BYTES_MAX, command)
        found = _parse(command, body)
        if (message := error_in(found)) is not None:
            raise failure(command, message)
        return found

    async def lines(
        self, command: str, arguments: Arguments = (), *, upload: Upload | None = None
    ) -> AsyncGenerator[Line, None]:
        """Every JSON object of a streamed answer; errors as in ``answer``, also for a line that tells of one."""
        async with self._post(command, arguments, upload=upload, works=True) as response:
            async for line in _lines_of(response, command):
                found = _parse(command, line)
                if (message := error_in(found)) is not None:
                    raise failure(command, message)
                yield found

    async def body(self, command: str, arguments: Arguments = ()) -> AsyncGenerator[bytes, None]:
        """The bytes that a command answers with, which may end early without a word: count them."""
        async with self._post(command, arguments) as response:
            async for piece in response.content.iter_chunked(READ_CHUNK_BYTES):
                yield piece

    @asynccontextmanager
    async def _post(
        self, command: str, arguments: Arguments, *, upload: Upload | None = None, works: bool = False
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        silence_s = self._patience.work_s if works else self._patience.silence_s
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=self._patience.connect_s, sock_read=silence_s)
        watched = None if upload is None else _WatchedUpload(upload, self._patience.silence_s)
        try:
            async with (
                asyncio.timeout(None) as deadline,
                self._session.post(
                    self._base.joinpath(*command.split("/")).with_query(list(arguments)),
                    data=None if watched is None else watched.form(deadline),
                    headers=self._headers,
                    timeout=timeout,
                    allow_redirects=False,
                ) as response,
            ):
                deadline.reschedule(None)
                if response.status != HTTPStatus.OK:
                    raise refusal(command, response.status, await response.content.read(RPC_ANSWER_BYTES_MAX))
                yield response
        except (aiohttp.ClientError, TimeoutError, ConnectionError) as error:
            if watched is not None and watched.failure is not None:
                raise watched.failure from None
            raise TransientStorageError(
                f"{command}: the IPFS node at {self._base.origin()} did not answer: {error or type(error).__name__}",
                hint="does it run, and is this the address of its RPC?",
            ) from error


class _WatchedUpload:
    """A body that ends when the node takes nothing of it for too long, and remembers if its own source failed."""

    def __init__(self, upload: Upload, silence_s: float) -> None:
        self.failure: Exception | None = None
        self._upload = upload
        self._silence_s = silence_s

    def form(self, deadline: asyncio.Timeout) -> aiohttp.MultipartWriter:
        writer = aiohttp.MultipartWriter("form-data")
        disposition = f'form-data; name="file"; filename="{self._upload.name}"'
        headers = {"Content-Type": "application/octet-stream", "Content-Disposition": disposition}
        writer.append(self._pieces(deadline), headers)
        return writer

    async def _pieces(self, deadline: asyncio.Timeout) -> AsyncIterator[bytes]:
        now = asyncio.get_running_loop().time
        try:
            async for piece in self._upload.pieces:
                deadline.reschedule(now() + self._silence_s)
                yield piece
                deadline.reschedule(None)  # the source may take as long as it likes
        except Exception as error:
            self.failure = error
            raise


def _base_url(address: str) -> URL:
    """The URL under which the commands lie."""
    scheme, _, rest = address.partition("://")
    if scheme.lower() not in SCHEMES:
        raise MalformedIdentifier("no address of the RPC of an IPFS node", expected="kubo+http://127.0.0.1:5001")
    try:
        url = URL(f"{scheme.lower().removeprefix('kubo+')}://{rest}")
    except ValueError:
        raise MalformedIdentifier("the address of an IPFS node is no URL", expected="kubo+http://HOST:PORT") from None
    if url.user is not None or url.password is not None:
        raise MalformedIdentifier("an address of an IPFS node holds a secret", hint="set ODF_IPFS_TOKEN instead")
    if not url.host:
        raise MalformedIdentifier("the address of an IPFS node names no host", expected="kubo+http://HOST:PORT")
    return url.with_query(None).with_fragment(None) / "api" / "v0"


async def _read_up_to(response: aiohttp.ClientResponse, size_max: int, command: str) -> bytes:
    data = b""
    async for piece in response.content.iter_any():
        data += piece
        if len(data) > size_max:
            raise ProtocolViolation(f"{command}: the IPFS node answered with too much", expected=f"{size_max} bytes")
    return data


async def _lines_of(response: aiohttp.ClientResponse, command: str) -> AsyncIterator[bytes]:
    rest = b""
    async for piece in response.content.iter_any():
        *whole, rest = (rest + piece).split(b"\n")
        for line in filter(bytes.strip, whole):
            yield line
        if len(rest) > RPC_ANSWER_BYTES_MAX:
            raise ProtocolViolation(f"{command}: the IPFS node sent a line without end")
    if rest.strip():
        yield rest


def _parse(command: str, data: bytes) -> Line:
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise ProtocolViolation(f"{command}: the IPFS node answered with no JSON object", found=repr(data[:100]))
    return found
