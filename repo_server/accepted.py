"""Which of several media types a caller would have, by the ``Accept`` header (RFC 9110, 12.5.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from aiohttp import hdrs, web

Offered = TypeVar("Offered")


def accepted(request: web.Request, offered: Mapping[str, Offered]) -> Offered:
    """What stands for the type that is liked most; of equals, and where none is liked, the first."""
    liked = liked_types(request) or {"*/*": 1.0}
    return offered[max(offered, key=lambda kind: _liking(kind, liked))]


def liked_types(request: web.Request) -> dict[str, float]:
    """Types and ranges that the caller names, with their weights."""
    return dict(_range(part) for part in request.headers.get(hdrs.ACCEPT, "").split(",") if part.strip())


def _liking(kind: str, liked: Mapping[str, float]) -> float:
    """The weight of the narrowest range that holds the type."""
    narrowest = next((each for each in (kind, f"{kind.partition('/')[0]}/*", "*/*") if each in liked), None)
    return 0.0 if narrowest is None else liked[narrowest]


def _range(part: str) -> tuple[str, float]:
    kind, *parameters = (piece.strip().lower() for piece in part.split(";"))
    weight = next((each.removeprefix("q=") for each in parameters if each.startswith("q=")), "1")
    try:
        return kind, float(weight)
    except ValueError:
        return kind, 0.0
