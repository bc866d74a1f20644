"""Conversations of the smart protocol as this server holds them: so many at a time, none silent for ever.

Once a handshake was answered there are no statuses any more: whatever goes wrong then ends the socket and stands in the
log. Pings are never sent: the reference takes one for a message and ends the conversation.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final

from aiohttp import WSCloseCode, web

from opendatafabric.errors import OdfError
from opendatafabric.limits import MESSAGE_BYTES_MAX
from repo_server.logs import SERVER
from repo_server.problems import Refused, message
from repo_server.services import Services
from sync.smart.channels import BASE64, ENCODINGS_HEADER, ChannelClosed, SocketChannel, reads_base64

ANSWERED: Final = web.RequestKey("answered", int)
"""Where a request keeps the status of a handshake: what comes later, a vanished client too, is no answer."""

_SILENT: Final = "too long a silence"


class PatientChannel(SocketChannel):
    """A channel that gives its peer ``silence_s`` seconds for each message."""

    def __init__(self, socket: web.WebSocketResponse, *, silence_s: float, peer_reads_base64: bool) -> None:
        super().__init__(socket, peer_reads_base64=peer_reads_base64)
        self.response = socket
        self._silence_s = silence_s

    async def receive(self) -> str:
        try:
            async with asyncio.timeout(self._silence_s):
                return await super().receive()
        except TimeoutError:
            await self.close(WSCloseCode.POLICY_VIOLATION, _SILENT)
            raise ChannelClosed(WSCloseCode.POLICY_VIOLATION, _SILENT) from None


@asynccontextmanager
async def conversation(
    request: web.Request, services: Services, places: asyncio.Semaphore, *, silence_s: float
) -> AsyncIterator[PatientChannel]:
    """The channel of a handshake that was found right; closed at the end, also when the conversation fails.

    Raises:
        Refused: all places are taken, or the server is stopping.
    """
    if places.locked() or services.stopping:
        busy = message("too many conversations at once, try again later", HTTPStatus.SERVICE_UNAVAILABLE)
        busy.headers["Retry-After"] = "5"
        raise Refused(busy)
    async with places:
        socket = web.WebSocketResponse(max_msg_size=MESSAGE_BYTES_MAX, autoping=True, heartbeat=None, compress=False)
        socket.headers[ENCODINGS_HEADER] = BASE64
        await socket.prepare(request)
        request[ANSWERED] = socket.status
        services.sockets.add(socket)
        base64 = reads_base64(request.headers.get(ENCODINGS_HEADER))
        try:
            yield PatientChannel(socket, silence_s=silence_s, peer_reads_base64=base64)
        except (OdfError, ChannelClosed) as error:
            SERVER.info("a conversation ended early: %s", error)
        except Exception as error:
            SERVER.error("a conversation crashed", exc_info=error)
        finally:
            await socket.close(code=WSCloseCode.INTERNAL_ERROR)
