"""Where blocks come from: a node or a gateway. Whoever it is, a block that arrives is the one its CID names."""

from __future__ import annotations

from typing import Final, Protocol

import aiohttp

from opendatafabric.ipfs.cid import Cid
from opendatafabric.ipfs.ipns import IpnsName
from opendatafabric.limits import IPFS_BLOCK_BYTES_MAX, IPNS_RECORD_BYTES_MAX, READ_CHUNK_BYTES
from storage.http.answer import HttpFolder, Manners
from storage.ipfs.node import IpfsNode
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
