"""A pinning service for tests: an HTTP server that speaks the IPFS Pinning Service API and keeps nothing but notes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

TOKEN = "a-token-of-the-service"


@dataclass
class FakeService:
    """``pins`` by the id of their request; new ones get ``status``. ``refuses`` is answered instead, if given."""

    status: str = "pinned"
    pins: dict[str, dict[str, Any]] = field(default_factory=dict)
    statuses: dict[str, str] = field(default_factory=dict)
    refuses: web.Response | None = None
    asked: list[str] = field(default_factory=list)

    def application(self) -> web.Application:
        application = web.Application(middlewares=[self._checked])
        application.router.add_post("/psa/pins", self.add)
        application.router.add_post("/psa/pins/{id}", self.replace)
        application.router.add_get("/psa/pins/{id}", self.find)
        return application

    @web.middleware
    async def _checked(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.asked.append(f"{request.method} {request.path}")
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return _error(401, "UNAUTHORIZED", "the token is none")
        if self.refuses is not None:
            refusal, self.refuses = self.refuses, None
            return refusal
        answer: web.StreamResponse = await handler(request)
        return answer

    async def add(self, request: web.Request) -> web.Response:
        wish = await request.json()
        request_id = f"request-{len(self.asked)}"
        self.pins[request_id], self.statuses[request_id] = wish, self.status
        return self._told(request_id, 202)

    async def replace(self, request: web.Request) -> web.Response:
        if self.pins.pop(request.match_info["id"], None) is None:
            return _error(404, "NOT_FOUND", "no such request")
        return await self.add(request)

    async def find(self, request: web.Request) -> web.Response:
        request_id = request.match_info["id"]
        return self._told(request_id, 200) if request_id in self.pins else _error(404, "NOT_FOUND", "no such request")

    def _told(self, request_id: str, status: int) -> web.Response:
        answer = {
            "requestid": request_id,
            "status": self.statuses[request_id],
            "created": "2026-01-01T00:00:00Z",
            "pin": self.pins[request_id],
            "delegates": [],
        }
        return web.json_response(answer, status=status)


def _error(status: int, reason: str, details: str) -> web.Response:
    return web.json_response({"error": {"reason": reason, "details": details}}, status=status)


@asynccontextmanager
async def served(service: FakeService) -> AsyncIterator[str]:
    """The address of that service, as a mirror takes it."""
    async with TestServer(service.application()) as server:
        yield f"pin+{server.make_url('/psa')}"
