"""A small server of one dataset, for tests of clients: the protocol over memory, with faults on demand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from opendatafabric.chain.objects import ObjectFile
from opendatafabric.did import DatasetId
from opendatafabric.errors import OdfError
from opendatafabric.layout import block_key
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


Fault = Callable[[web.Request], web.Response | None]


def memory_dataset() -> Dataset:
    return Dataset(MemoryObjectStore(), MemoryRefStore())


def stored(dataset: Dataset) -> dict[str, bytes]:
    """Everything a dataset over memory holds, by key."""
    assert isinstance(dataset.objects, MemoryObjectStore)
    return dataset.objects.objects


@dataclass
class SmartServer:
    """Serves ``dataset``; what clients achieve is in ``outcomes``."""

    dataset: Dataset = field(default_factory=memory_dataset)
    base64: bool = True
    wrap: Callable[[Channel], Channel] = unchanged
    faults: list[Fault] = field(default_factory=list)
    """Asked first, in order, about every request of an object; one that answers is used up."""

    refusal: OdfError | None = None
    """What making a new dataset ends in."""

    sends_range: bool = True
    outcomes: list[Any] = field(default_factory=list)
    requests: list[tuple[str, str, str | None]] = field(default_factory=list)
    """Method, key and ``Range`` of every request of an object."""

    visibility: Visibility | None = None
    address: str = ""
    generation: int = 0
    """Goes into every address of an object, so that tests can let old ones expire."""

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

    # --- handlers

    def application(self) -> web.Application:
        application = web.Application(client_max_size=2**30)
        application.router.add_get("/refs/head", self._head)
        application.router.add_get("/blocks/{name}", self._block)
        for folder in ("data", "checkpoints"):
            application.router.add_get(f"/{{folder:{folder}}}/{{name}}", self._get)
            application.router.add_put(f"/{{folder:{folder}}}/{{name}}", self._put)
        application.router.add_get("/pull", self._pull)
        application.router.add_get("/push", self._push)
        return application

    async def _head(self, _: web.Request) -> web.Response:
        head = await self.dataset.head()
        return web.Response(status=404) if head is None else web.Response(text=str(head))

    async def _block(self, request: web.Request) -> web.Response:
        return self._bytes(request, block_key(Multihash.from_text(request.match_info["name"])))

    async def _get(self, request: web.Request) -> web.Response:
        return self._fault(request) or self._bytes(request, request.path[1:])

    async def _put(self, request: web.Request) -> web.Response:
        fault = self._fault(request)
        if fault is not None:
            await request.read()
            return fault
        body = await request.read()
        name = Multihash.from_text(request.match_info["name"])

        async def pieces() -> AsyncIterator[bytes]:
            yield body

        try:
            await receive_object(
                self.dataset.writable_objects(), request.path[1:], pieces(), expected_hash=name, size_max=2**30
            )
        except OdfError as error:
            return web.json_response({"message": error.message}, status=400)
        return web.Response()

    def _fault(self, request: web.Request) -> web.Response | None:
        self.requests.append((request.method, request.path[1:], request.headers.get("Range")))
        for fault in self.faults:
            response = fault(request)
            if response is not None:
                self.faults.remove(fault)
                return response
        return None

    def _bytes(self, request: web.Request, key: str) -> web.Response:
        data = stored(self.dataset).get(key)
        if data is None:
            return web.json_response({"message": "Not Found"}, status=404)
        asked = request.http_range
        if asked.start and self.sends_range:
            return web.Response(status=206, body=data[asked.start :])
        return web.Response(body=data)

    async def _pull(self, request: web.Request) -> web.StreamResponse:
        socket, channel = await self._opened(request)
        self.outcomes.append(await serve_pull(channel, self.dataset, self))
        await socket.close()
        return socket

    async def _push(self, request: web.Request) -> web.StreamResponse:
        socket, channel = await self._opened(request)
        self.outcomes.append(await serve_push(channel, self, self))
        await socket.close()
        return socket

    async def _opened(self, request: web.Request) -> tuple[web.WebSocketResponse, Channel]:
        socket = web.WebSocketResponse(max_msg_size=MESSAGE_BYTES_MAX, timeout=0.5)
        if self.base64:
            socket.headers[ENCODINGS_HEADER] = BASE64
        await socket.prepare(request)
        peer_reads = self.base64 and reads_base64(request.headers.get(ENCODINGS_HEADER))
        return socket, self.wrap(SocketChannel(socket, peer_reads_base64=peer_reads))


@asynccontextmanager
async def smart_server(dataset: Dataset | None = None, **options: Any) -> AsyncIterator[SmartServer]:
    server = SmartServer(dataset or memory_dataset(), **options)
    async with serving(server.application()) as address:
        server.address = address
        yield server


def once(status: int, *, method: str | None = None, body: bytes = b"", **headers: str) -> Fault:
    """A fault that answers the next request of an object with ``status``."""

    def answer(request: web.Request) -> web.Response | None:
        if method not in (None, request.method):
            return None
        return web.Response(status=status, body=body, headers={k.replace("_", "-"): v for k, v in headers.items()})

    return answer
