"""A small server of one dataset, for tests of clients: the protocol over memory, with faults on demand.

It is asked over sockets (``smart_server``) or directly (``memory_session.py``).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from opendatafabric.chain.objects import ObjectFile
from opendatafabric.did import DatasetId
from opendatafabric.errors import OdfError
from opendatafabric.limits import MESSAGE_BYTES_MAX
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset, object_key
from storage.memory import MemoryObjectStore, MemoryRefStore
from storage.quarantine import receive_object
from sync.remote import RemoteLocation, parse_remote
from sync.smart.channels import BASE64, ENCODINGS_HEADER, Channel, SocketChannel, reads_base64
from sync.smart.messages import HeaderRow, TransferUrl, Visibility
from sync.smart.serve import serve_pull, serve_push
from tests.sync.smart.sockets import serving


def unchanged(channel: Channel) -> Channel:
    return channel


@dataclass
class Asked:
    """A request, however it came."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def key(self) -> str:
        return self.path[1:]


Fault = Callable[[Asked], web.Response | None]


def memory_dataset() -> Dataset:
    return Dataset(MemoryObjectStore(), MemoryRefStore())


def stored(dataset: Dataset) -> dict[str, bytes]:
    """Everything a dataset over memory holds, by key."""
    assert isinstance(dataset.objects, MemoryObjectStore)
    return dataset.objects.objects


@dataclass
class SmartServer:
    """Serves ``dataset``; what clients achieve is in ``outcomes()``."""

    dataset: Dataset = field(default_factory=memory_dataset)
    base64: bool = True
    wrap: Callable[[Channel], Channel] = unchanged
    faults: list[Fault] = field(default_factory=list)
    """Asked first, in order, about every request of an object; one that answers is used up."""

    refusal: OdfError | None = None
    """What making a new dataset ends in."""

    sends_range: bool = True
    requests: list[tuple[str, str, str | None]] = field(default_factory=list)
    """Method, key and ``Range`` of every request of an object."""

    visibility: Visibility | None = None
    address: str = ""
    generation: int = 0
    """Goes into every address of an object, so that tests can let old ones expire."""

    _outcomes: list[Any] = field(default_factory=list)
    _one_ended: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def location(self) -> RemoteLocation:
        return parse_remote("odf+" + self.address)

    # --- as PushTarget and ObjectUrls

    async def find(self) -> Dataset | None:
        return self.dataset if await self.dataset.head() is not None else None

    async def create(self, dataset_id: DatasetId, visibility: Visibility) -> Dataset:
        if self.refusal is not None:
            raise self.refusal
        self.visibility = visibility
        return self.dataset

    def download_url(self, file: ObjectFile) -> TransferUrl:
        url = f"{self.address}{object_key(file)}?generation={self.generation}"
        return TransferUrl(url=url, headers=(HeaderRow(name="x-proof", value="of this address"),))

    def upload_url(self, file: ObjectFile) -> TransferUrl:
        return self.download_url(file)

    # --- requests

    async def answer(self, asked: Asked) -> web.Response:
        """Everything but conversations."""
        folder = asked.key.partition("/")[0]
        if folder == "refs":
            head = await self.dataset.head()
            return web.Response(status=404) if head is None else web.Response(text=str(head))
        if folder == "blocks":
            return self._bytes(asked)
        fault = self._fault(asked)
        if fault is not None:
            return fault
        return await self._put(asked) if asked.method == "PUT" else self._bytes(asked)

    async def converse(self, verb: str, channel: Channel) -> None:
        """Take a conversation to its end."""
        channel = self.wrap(channel)
        serving_end = serve_push(channel, self, self) if verb == "push" else serve_pull(channel, self.dataset, self)
        outcome = await serving_end
        async with self._one_ended:
            self._outcomes.append(outcome)
            self._one_ended.notify_all()

    async def outcomes(self, count: int) -> list[Any]:
        """How ``count`` conversations ended here; a client may know the end of one before its server does."""
        async with asyncio.timeout(30), self._one_ended:
            await self._one_ended.wait_for(lambda: len(self._outcomes) >= count)
        return self._outcomes

    def reads_base64(self, headers: Mapping[str, str]) -> bool:
        return self.base64 and reads_base64(headers.get(ENCODINGS_HEADER))

    async def _put(self, asked: Asked) -> web.Response:
        async def pieces() -> AsyncIterator[bytes]:
            yield asked.body

        name = Multihash.from_text(asked.key.rpartition("/")[2])
        try:
            await receive_object(
                self.dataset.writable_objects(), asked.key, pieces(), expected_hash=name, size_max=2**30
            )
        except OdfError as error:
            return web.json_response({"message": error.message}, status=400)
        return web.Response()

    def _fault(self, asked: Asked) -> web.Response | None:
        self.requests.append((asked.method, asked.key, asked.headers.get("Range")))
        for fault in self.faults:
            response = fault(asked)
            if response is not None:
                self.faults.remove(fault)
                return response
        return None

    def _bytes(self, asked: Asked) -> web.Response:
        data = stored(self.dataset).get(asked.key)
        if data is None:
            return web.json_response({"message": "Not Found"}, status=404)
        start = re.fullmatch(r"bytes=(\d+)-", asked.headers.get("Range", ""))
        if start is not None and self.sends_range:
            return web.Response(status=206, body=data[int(start[1]) :])
        return web.Response(body=data)

    # --- over sockets

    def application(self) -> web.Application:
        application = web.Application(client_max_size=2**30)
        application.router.add_get("/{verb:pull|push}", self._socket)
        application.router.add_route("*", "/{path:.*}", self._request)
        return application

    async def _request(self, request: web.Request) -> web.Response:
        asked = Asked(request.method, request.path, request.query, request.headers, await request.read())
        return await self.answer(asked)

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(max_msg_size=MESSAGE_BYTES_MAX, timeout=0.5)
        if self.base64:
            socket.headers[ENCODINGS_HEADER] = BASE64
        await socket.prepare(request)
        channel = SocketChannel(socket, peer_reads_base64=self.reads_base64(request.headers))
        await self.converse(request.match_info["verb"], channel)
        await socket.close()
        return socket


@asynccontextmanager
async def smart_server(dataset: Dataset | None = None, **options: Any) -> AsyncIterator[SmartServer]:
    server = SmartServer(dataset or memory_dataset(), **options)
    async with serving(server.application()) as address:
        server.address = address
        yield server


def once(status: int, *, method: str | None = None, body: bytes = b"", **headers: str) -> Fault:
    """A fault that answers the next request of an object with ``status``."""

    def answer(asked: Asked) -> web.Response | None:
        if method not in (None, asked.method):
            return None
        return web.Response(status=status, body=body, headers={k.replace("_", "-"): v for k, v in headers.items()})

    return answer
