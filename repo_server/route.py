"""One row of the table of routes, and which rows the reference has too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from aiohttp import hdrs, web

from repo_server.auditing import Audited
from repo_server.needs import Needs
from repo_server.rate_limits import Limited
from repo_server.repeating import Repeats

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Route:
    """``path`` of a dataset's route is below the dataset. ``GET`` answers ``HEAD`` too. What it ``needs`` of its caller
    is asked before the handler runs."""

    method: str
    path: str
    handler: Handler
    purpose: str
    needs: Needs
    audited: Audited | None = None
    """How the audit log has it; by its method unless said."""
    limited: Limited | None = None
    """What it counts as; by its method unless said."""
    repeats: Repeats | None = None
    """Whether it may be sent again with a key, and what becomes of its answer."""

    @property
    def counts_as(self) -> Limited:
        """Objects come by thousands, whatever else is sent does not."""
        if self.limited is None and self.audited is Audited.COUNTED:
            return Limited.TRANSFERS
        reads = self.audited is Audited.NOT or (self.method == hdrs.METH_GET and self.audited is None)
        return self.limited or (Limited.READS if reads else Limited.WRITES)

    @property
    def of_reference(self) -> bool:
        """Whether the reference has this route: its refusals have the reference's forms."""
        return self.path in _REFERENCE_PATHS


@dataclass(frozen=True, slots=True)
class Served:
    """A route as a server has it, with its whole path."""

    route: Route
    path: str


SERVED: Final = web.AppKey("served", tuple[Served, ...])
"""Everything that an application serves."""

_REFERENCE_PATHS: Final = frozenset(
    {
        "/info",
        "/accounts/me",
        "/datasets/{did}",
        "/platform/token/validate",
        "/platform/login",
        "/graphql",
        "/platform/token/device",
        "/platform/token/device/authorization",
        "/platform/file/upload/prepare",
        "/platform/file/upload/{token}",
        "/refs/{ref}",
        "/blocks/{hash}",
        "/data/{hash}",
        "/checkpoints/{hash}",
        "/tail",
        "/metadata",
        "/query",
        "/pull",
        "/push",
        "/ingest",
    }
)
