"""Which routes the reference has too: its clients know refusals there in their own form alone."""

from __future__ import annotations

from typing import Final

from aiohttp import web

REFERENCE_HANDLERS: Final[web.AppKey[set[object]]] = web.AppKey("reference_handlers", set[object])
"""What answers these routes."""


def speaks_as_reference(request: web.Request) -> bool:
    """Whether clients of the reference call this route."""
    return request.match_info.handler in request.app[REFERENCE_HANDLERS]
