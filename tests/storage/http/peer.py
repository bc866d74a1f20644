"""A web server over a dictionary, as honest or as broken as a test wants it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from aiohttp import web


@dataclass
class Peer:
    """``files`` by path; the other fields say what is wrong with the server."""

    files: dict[str, bytes] = field(default_factory=dict)
    ranges: bool = True
    lengths: bool = True
    statuses: Iterator[int] = field(default_factory=lambda: iter(()))
    """Answered instead of the file, one per request, until used up."""
    breaks_after: list[int] = field(default_factory=list)
    """The next answers break off after so many bytes."""
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)

    def application(self) -> web.Application:
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self.answer)
        return application

    async def answer(self, request: web.Request) -> web.StreamResponse:
        path = request.match_info["path"]
        self.requests.append((request.method, path, dict(request.headers)))
        status = next(self.statuses, None)
        if status is not None:
            return web.Response(status=status)
        if path not in self.files:
            return web.Response(status=404, text='{"message":"not found"}')
        return await self.body(request, self.files[path])

    async def body(self, request: web.Request, data: bytes) -> web.StreamResponse:
        status, headers = 200, {}
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("Range", ""))
        if wanted and self.ranges:
            start, end = int(wanted[1]), min(len(data), int(wanted[2]) + 1 if wanted[2] else len(data))
            if start >= len(data):
                return web.Response(status=416)
            status, headers = 206, {"Content-Range": f"bytes {start}-{end - 1}/{len(data)}"}
            data = data[start:end]
        response = web.StreamResponse(status=status, headers=headers)
        if self.lengths:
            response.content_length = len(data)
        await response.prepare(request)
        if request.method == "HEAD":
            return response
        if self.breaks_after:
            await response.write(data[: self.breaks_after.pop(0)])
            assert request.transport is not None
            request.transport.close()
            return response
        await response.write(data)
        return response
