"""A small gateway over blocks in memory: files by path, raw blocks, records; as honest or as broken as a test wants."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

from aiohttp import web

from opendatafabric.errors import NotFound
from opendatafabric.ipfs.cid import Cid
from opendatafabric.ipfs.ipns import IpnsName
from storage.ipfs.location import DnsLink, parse_content_path
from storage.ipfs.tree import BlockTree
from tests.storage.ipfs.stored_trees import MemoryBlocks


@dataclass
class Gateway:
    """``names`` lead to roots without a record, ``absent`` is what is answered for what is not there."""

    blocks: MemoryBlocks = field(default_factory=MemoryBlocks)
    names: dict[str, Cid] = field(default_factory=dict)
    absent: int = 404
    always: int = 0
    requests: list[web.Request] = field(default_factory=list)

    def application(self) -> web.Application:
        application = web.Application()
        application.router.add_get("/{path:ip[fn]s/.*}", self.answer)
        return application

    async def answer(self, request: web.Request) -> web.Response:
        self.requests.append(request)
        if self.always:
            return web.Response(status=self.always, headers={"Location": "http://127.0.0.1:1/"})
        try:
            return web.Response(body=await self._body(request))
        except NotFound:
            return web.Response(status=self.absent, text="not found")

    async def _body(self, request: web.Request) -> bytes:
        place = parse_content_path("/" + request.match_info["path"])
        form = request.query.get("format")
        if form == "ipns-record":
            assert isinstance(place.root, IpnsName)
            return await self.blocks.record(place.root)
        root = place.root if isinstance(place.root, Cid) else self._resolve(place.root)
        if form == "raw":
            return self.blocks.blocks[root] if root in self.blocks.blocks else await self.blocks.block(root)

        async def find_root() -> Cid:
            return root

        tree = BlockTree(self.blocks, find_root)
        return b"".join([piece async for piece in tree.read(await tree.find(place.path), 0, sys.maxsize)])

    def _resolve(self, name: IpnsName | DnsLink) -> Cid:
        if str(name) not in self.names:
            raise NotFound(str(name))
        return self.names[str(name)]
