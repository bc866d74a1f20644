"""Where blocks come from: a node or a gateway. Whoever it is, a block that arrives is the one its CID names."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final, Protocol

import aiohttp

from opendatafabric.errors import MalformedDag, NotFound, ObjectNotFound, UnsupportedOperation
from opendatafabric.ipfs.car import CarReader, car_header, car_section
from opendatafabric.ipfs.cid import Cid
from opendatafabric.ipfs.ipns import IpnsName
from opendatafabric.limits import IPFS_BLOCK_BYTES_MAX, IPNS_RECORD_BYTES_MAX, READ_CHUNK_BYTES
from storage.http.answer import HttpFolder, Manners
from storage.ipfs.index import TreeIndex
from storage.ipfs.node import IpfsNode
from storage.local import durable
from storage.reading import joined

GATEWAY: Final = Manners(redirects=False)
_RAW: Final = "application/vnd.ipld.raw"
_RECORD: Final = "application/vnd.ipfs.ipns-record"


class BlockSource(Protocol):
    """Blocks and records of names. What is absent is ``NotFound``; who does not answer is a transient error."""

    async def block(self, cid: Cid) -> bytes:
        """The block of that name, checked."""
        ...

    async def record(self, name: IpnsName) -> bytes:
        """The newest signed record of a name that the source knows, not checked.

        Raises:
            UnsupportedOperation: the source gives out no records.
        """
        ...


class NodeBlocks:
    """From an IPFS node, which looks for what it has not."""

    def __init__(self, node: IpfsNode) -> None:
        self._node = node

    async def block(self, cid: Cid) -> bytes:
        return await self._node.block(cid)

    async def record(self, name: IpnsName) -> bytes:
        return await self._node.record(name.text)


class GatewayBlocks:
    """From a gateway that serves raw blocks (trustless gateway specification)."""

    def __init__(self, session: aiohttp.ClientSession, gateway: str, headers: dict[str, str]) -> None:
        self._folder = HttpFolder(session, gateway, headers, GATEWAY)

    async def block(self, cid: Cid) -> bytes:
        data = await self._read(f"ipfs/{cid}", "raw", _RAW, IPFS_BLOCK_BYTES_MAX)
        cid.check(data)
        return data

    async def record(self, name: IpnsName) -> bytes:
        return await self._read(f"ipns/{name}", "ipns-record", _RECORD, IPNS_RECORD_BYTES_MAX)

    async def _read(self, path: str, form: str, media_type: str, size_max: int) -> bytes:
        request = self._folder.request("GET", path, {"Accept": media_type}, {"format": form})
        async with request as response:
            return await joined(path, response.content.iter_chunked(READ_CHUNK_BYTES), size_max=size_max)


class FolderBlocks:
    """From the index of a repository: blocks of the folders of its trees, and where it has them not, ``otherwise``."""

    def __init__(self, index: TreeIndex, otherwise: BlockSource | None = None) -> None:
        self._index = index
        self._otherwise = otherwise

    async def block(self, cid: Cid) -> bytes:
        known = next((place.data for place in await self._index.find_block(cid) if place.data is not None), None)
        if known is not None:
            return known
        if self._otherwise is None:
            raise ObjectNotFound(f"{cid} is no block of a folder that is known here")
        return await self._otherwise.block(cid)

    async def record(self, name: IpnsName) -> bytes:
        raise UnsupportedOperation("the index of a repository has no records of names")


class CarBlocks:
    """From a CAR file, which is read through once, proving every block, to learn where each lies."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._roots: tuple[Cid, ...] = ()
        self._places: dict[Cid, tuple[int, int]] | None = None
        self._reading = asyncio.Lock()

    async def root(self) -> Cid:
        """The root that the file names; ``MalformedDag`` unless it names one."""
        await self._known_places()
        if len(self._roots) != 1:
            raise MalformedDag(f"{self._path} has not one root", expected=1, found=len(self._roots))
        return self._roots[0]

    async def block(self, cid: Cid) -> bytes:
        place = (await self._known_places()).get(cid)
        if place is None:
            raise NotFound(f"{cid} is not in {self._path}")
        data = await asyncio.to_thread(self._read, *place)
        cid.check(data)
        return data

    async def record(self, name: IpnsName) -> bytes:
        raise UnsupportedOperation("a CAR has no records of names")

    async def _known_places(self) -> dict[Cid, tuple[int, int]]:
        async with self._reading:
            if self._places is None:
                self._places = await asyncio.to_thread(self._scan)
        return self._places

    def _scan(self) -> dict[Cid, tuple[int, int]]:
        places: dict[Cid, tuple[int, int]] = {}
        with durable.translated(f"read {self._path}"), self._path.open("rb") as file:
            reader, position = CarReader(), -1
            while piece := file.read(READ_CHUNK_BYTES):
                for block in reader.feed(piece):
                    position = len(car_header(reader.roots)) if position < 0 else position
                    position += len(car_section(block.cid, len(block.data)))
                    places[block.cid] = (position, len(block.data))
                    position += len(block.data)
            reader.finish()
        self._roots = reader.roots
        return places

    def _read(self, position: int, size: int) -> bytes:
        with durable.translated(f"read {self._path}"), self._path.open("rb") as file:
            file.seek(position)
            return file.read(size)
