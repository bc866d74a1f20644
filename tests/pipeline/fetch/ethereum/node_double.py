"""A node of a chain that tests write: JSON-RPC over HTTP, on this machine."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer


@dataclass
class Chain:
    """``newest`` is its last block; ``ranges`` are those that were asked for; ``widest`` is what it answers to."""

    chain_id: int = 1
    newest: int = 9
    fork: str = "a"
    widest: int = 1_000_000
    logs: list[dict[str, Any]] = field(default_factory=list)
    ranges: list[tuple[int, int]] = field(default_factory=list)
    answer: web.Response | None = None

    def hash_of(self, number: int) -> str:
        """Another one on each fork."""
        return f"0x{hashlib.sha256(f'{self.fork}{number}'.encode()).hexdigest()}"

    def log(self, number: int, address: bytes, *topics: bytes, data: bytes = b"", **fields: Any) -> None:
        """Add one."""
        self.logs.append(
            {
                "blockNumber": hex(number),
                "blockHash": self.hash_of(number),
                "transactionIndex": "0x0",
                "transactionHash": f"0x{'11' * 32}",
                "logIndex": hex(len(self.logs)),
                "address": f"0x{address.hex()}",
                "topics": [f"0x{topic.hex()}" for topic in topics],
                "data": f"0x{data.hex()}",
                **fields,
            }
        )

    async def serve(self, request: web.Request) -> web.Response:
        """One question."""
        asked = await request.json()
        if self.answer is not None:
            return self.answer
        told = getattr(self, asked["method"])(*asked["params"])
        return web.json_response({"jsonrpc": "2.0", "id": asked["id"], **told})

    def eth_chainId(self) -> dict[str, Any]:
        return {"result": hex(self.chain_id)}

    def eth_getBlockByNumber(self, number: str, _: bool) -> dict[str, Any]:
        found = self.newest if number == "latest" else int(number, 16)
        if found > self.newest:
            return {"result": None}
        return {"result": {"number": hex(found), "hash": self.hash_of(found)}}

    def eth_getLogs(self, wanted: dict[str, Any]) -> dict[str, Any]:
        first, last = int(wanted["fromBlock"], 16), int(wanted["toBlock"], 16)
        self.ranges.append((first, last))
        if last - first + 1 > self.widest:
            return {"error": {"code": -32005, "message": "query exceeds max block range, key=secret"}}
        return {"result": [log for log in self.logs if _matches(log, wanted, first, last)]}


def _matches(log: dict[str, Any], wanted: dict[str, Any], first: int, last: int) -> bool:
    topics = [*log["topics"], *[None] * 4]
    return (
        first <= int(log["blockNumber"], 16) <= last
        and log["address"] in wanted.get("address", [log["address"]])
        and all(each is None or topic in each for each, topic in zip(wanted.get("topics", []), topics, strict=False))
    )


@asynccontextmanager
async def running(chain: Chain) -> AsyncIterator[str]:
    """Where the node listens."""
    app = web.Application()
    app.router.add_post("/{path:.*}", chain.serve)
    async with TestServer(app) as server:
        yield str(server.make_url("/"))
