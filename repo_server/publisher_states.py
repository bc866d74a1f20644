"""Trusted publishers as others are told them, here and on a server."""

from __future__ import annotations

from typing import Any

from catalog.publishers import Publisher
from repo_server.moments import moment


def plain_publisher(publisher: Publisher) -> dict[str, Any]:
    """A publisher, and when it was trusted."""
    trust = publisher.trust
    return {
        "id": publisher.id,
        "issuer": trust.issuer,
        "audience": trust.audience,
        "claims": dict(trust.claims),
        "createdAt": moment(publisher.created_at),
    }
