"""What a route needs of its caller: said once for each route, in the table, and asked by the gate alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from aiohttp import web

from catalog.permissions import Access
from catalog.scopes import Scope
from repo_server.config import Settings


class Who(Enum):
    """Who is let through to a route that is about no dataset."""

    UNASKED = "everybody, without a look at the header"
    SIGNING_IN = "everybody, also where anonymous callers are shut out"
    ANYONE = "everybody who is let in; a bad token makes anonymous"
    ACCOUNT = "whoever has a valid token"
    ADMIN = "administrators of the node"


@dataclass(frozen=True, slots=True)
class OfNode:
    """What a route that is about no dataset needs; its handler finds the caller in ``CALLER``."""

    who: Who
    scope: Scope | None = None
    """What the token must be good for."""
    unless: Callable[[Settings], bool] | None = None
    """Settings under which nothing is asked."""
    told: str | None = None
    """What callers without a valid token are told, where that is not what is wrong with it."""


@dataclass(frozen=True, slots=True)
class OfDataset:
    """What a route of a dataset needs; its handler finds the dataset in ``VISIT``.

    What the caller may see in it beside (a reason of failure, values) its handler looks up with ``access_of``.
    """

    access: Access
    pending: bool = False
    """Whether it also reaches a dataset that is being pushed, for those who push it."""
    new: bool = False
    """Whether it also reaches a place where a dataset may be made."""
    more: Callable[[web.Request], Access] | None = None
    """What some requests need instead, by what they say."""

    def asked(self, request: web.Request) -> Access:
        """What ``request`` needs."""
        return self.access if self.more is None else max(self.access, self.more(request))


Needs = OfNode | OfDataset | Access
"""``Access`` alone is short for a dataset that is there."""

UNASKED: Final = OfNode(Who.UNASKED)
SIGNING_IN: Final = OfNode(Who.SIGNING_IN)
ANYONE: Final = OfNode(Who.ANYONE)
ACCOUNT: Final = OfNode(Who.ACCOUNT)
ADMIN: Final = OfNode(Who.ADMIN, Scope.ADMIN)
