"""Opening a conversation with a server, with its refusals as errors."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final, Literal

import aiohttp

from opendatafabric.errors import (
    AccessDenied,
    AuthenticationRequired,
    DatasetNotFound,
    OdfError,
    PeerUnavailable,
    TransferRejected,
)
from opendatafabric.limits import MESSAGE_BYTES_MAX, PEER_SILENCE_S_MAX
from storage.backoff import Busy, asked_wait_s, retried
from sync.remote import RemoteLocation
from sync.smart.channels import BASE64, ENCODINGS_HEADER, VERSION, VERSION_HEADER, SocketChannel, reads_base64
from sync.smart.driver import Conversation

_REFUSALS: Final[dict[int, tuple[type[OdfError], str]]] = {
    HTTPStatus.UNAUTHORIZED: (AuthenticationRequired, "needs a valid token"),
    HTTPStatus.FORBIDDEN: (AccessDenied, "may not be changed with this token"),
    HTTPStatus.NOT_FOUND: (DatasetNotFound, "is not there, or not for this token"),
}


def token_headers(token: str | None) -> dict[str, str]:
    """The header a token goes in."""
    return {} if token is None else {"Authorization": f"Bearer {token}"}


@asynccontextmanager
async def open_conversation(
    session: aiohttp.ClientSession, location: RemoteLocation, verb: Literal["pull", "push"], token: str | None
) -> AsyncIterator[Conversation]:
    """A conversation over ``<dataset>/pull`` or ``…/push``, closed at the end.

    Raises:
        AuthenticationRequired, AccessDenied, DatasetNotFound, TransferRejected: the server's answer.
        PeerUnavailable: no answer.
    """
    headers = {VERSION_HEADER: VERSION, ENCODINGS_HEADER: BASE64, **token_headers(token)}
    socket = await retried(lambda: _connected(session, location, verb, headers))
    try:
        answered = socket._response.headers.get(ENCODINGS_HEADER)  # aiohttp shows the answer nowhere else
        channel = SocketChannel(socket, peer_reads_base64=reads_base64(answered))
        yield Conversation(channel, patience_s=PEER_SILENCE_S_MAX)
    finally:
        await socket.close()


async def _connected(
    session: aiohttp.ClientSession, location: RemoteLocation, verb: str, headers: Mapping[str, str]
) -> aiohttp.ClientWebSocketResponse:
    try:
        # A ping would be taken for a message by the reference, so there is no heartbeat.
        return await session.ws_connect(
            location.socket_url + verb, headers=headers, max_msg_size=MESSAGE_BYTES_MAX, autoping=True, heartbeat=None
        )
    except aiohttp.WSServerHandshakeError as error:
        raise _refused(error, location) from error
    except (aiohttp.ClientError, TimeoutError, ConnectionError) as error:
        raise PeerUnavailable(f"{location.url} cannot be reached: {error or type(error).__name__}") from error


def _refused(error: aiohttp.WSServerHandshakeError, location: RemoteLocation) -> OdfError:
    if error.status in _REFUSALS:
        family, what = _REFUSALS[error.status]
        return family(f"{location.url} {what}", hint="odf login URL --access-token TOKEN")
    if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR or error.status == HTTPStatus.TOO_MANY_REQUESTS:
        asked = error.headers.get("Retry-After") if error.headers is not None else None
        return Busy(f"{location.url} answered with status {error.status}", asked_wait_s(asked, time.time()))
    return TransferRejected(f"{location.url} refused the conversation with status {error.status}")
