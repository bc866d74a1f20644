"""Requests in the audit log: every write and every refused one, found by the table of routes, in one place.

A handler may ``tell`` more about what it did, and write it down itself as soon as it is done, where the answer comes
much later.
"""

from __future__ import annotations

import uuid
from enum import Enum
from http import HTTPStatus
from typing import Any, Final

from aiohttp import hdrs, web

from catalog.accounts import Account
from catalog.audit import Deed
from catalog.token_text import parse_token
from opendatafabric.errors import AuthenticationRequired
from repo_server.addresses import client_address
from repo_server.gate import LOOKED
from repo_server.identity import CALLED
from repo_server.logs import redacted
from repo_server.services import SERVICES


class Audited(Enum):
    """How requests to a route are written down."""

    EACH = "each"
    COUNTED = "added up"
    NOT = "not at all"


AUDITED_AS: Final = web.AppKey("audited_as", dict[web.AbstractRoute, tuple[str, Audited]])
"""What requests to each route are called in the log, and how they are written."""

_TOLD: Final = web.RequestKey("told", dict[str, Any])
_REQUEST_ID: Final = web.RequestKey("request_id", str)
_WRITTEN: Final = web.RequestKey("written", bool)
_READING: Final = {hdrs.METH_GET, hdrs.METH_HEAD, hdrs.METH_OPTIONS}
_NOT_TOLD: Final = {"account", "name", "token", "hash", "upload", "run"}
"""Parts of paths that are the name of the dataset, or name nothing that lasts."""


def usual(method: str) -> Audited:
    """How requests of a method are written down where their route does not say it."""
    return Audited.NOT if method in _READING else Audited.EACH


def begin(request: web.Request, request_id: str) -> None:
    """Keep what is told of ``request`` later."""
    request[_REQUEST_ID], request[_TOLD] = request_id, {}


def tell(request: web.Request, **told: Any) -> None:
    """Say more about what ``request`` did or why it failed."""
    request[_TOLD].update({name: value for name, value in told.items() if value is not None})


async def write_now(request: web.Request, **told: Any) -> None:
    """Write down what ``request`` did, before its answer is known; it is not written again then."""
    tell(request, outcome="ok", **told)
    request[_WRITTEN] = True
    action, _ = request.app[AUDITED_AS][request.match_info.route]
    await request.app[SERVICES].audit.written(_deed(request, action))


def broken_off(request: web.Request) -> None:
    """Write down soon that the client of ``request`` went away, or we did, before there was an answer."""
    action, how = _how(request)
    if how is not Audited.NOT:
        request.app[SERVICES].audit.refused(_deed(request, action, outcome="broken off"), address_of(request))


async def answered(request: web.Request, status: int) -> None:
    """Write down how ``request`` was answered."""
    queue, (action, how) = request.app[SERVICES].audit, _how(request)
    if how is Audited.NOT:
        return
    if status >= HTTPStatus.BAD_REQUEST or "code" in request[_TOLD]:
        queue.refused(_deed(request, action, outcome="refused", status=status), address_of(request))
    elif how is Audited.COUNTED:
        queue.count(_deed(request, action, outcome="ok", counted=True), size=request.content_length or 0)
    else:
        await queue.written(_deed(request, action, outcome="ok", status=status))


def whose(account: Account) -> dict[str, str]:
    """What is told of somebody who shows who they are, and has no token yet."""
    return {"account": str(account.name), "account_id": str(account.id)}


def _told(request: web.Request) -> dict[str, Any]:
    return request[_TOLD]


def _how(request: web.Request) -> tuple[str, Audited]:
    if request.get(_WRITTEN):
        return "", Audited.NOT
    return request.app[AUDITED_AS].get(request.match_info.route, ("", Audited.NOT))


def address_of(request: web.Request) -> str:
    """Where ``request`` comes from."""
    trusted = request.app[SERVICES].settings.proxy_networks
    return client_address(request.remote, request.headers.getall("X-Forwarded-For", []), trusted)


def _deed(request: web.Request, action: str, *, counted: bool = False, **more: Any) -> Deed:
    alone = {} if counted else {"request": request[_REQUEST_ID], "agent": request.headers.get("User-Agent"), **more}
    where = {"address": address_of(request), "dataset_id": _dataset_id(request)}
    details = {"by": "request", **_who(request), **where, **alone, **_told(request)}
    told = {name: redacted(each) if isinstance(each, str) else each for name, each in details.items()}
    return Deed(action, redacted(_subject(request)), {name: each for name, each in told.items() if each is not None})


def _who(request: web.Request) -> dict[str, str | None]:
    caller = request.get(CALLED)
    if caller is None:
        return {}
    account, token = caller.account, _token_id(caller.token)
    if account is None:
        return {"token": token, "reason": caller.reason}
    return {"account": str(account.name), "account_id": str(account.id), "token": token}


def _token_id(text: str | None) -> str | None:
    """Which token that is, whether or not it counts."""
    try:
        return None if text is None else str(uuid.UUID(bytes=parse_token(text).id))
    except AuthenticationRequired:
        return None


def _dataset_id(request: web.Request) -> str | None:
    looked = request.get(LOOKED)
    return None if looked is None or looked.hosted is None else str(looked.hosted.entry.id)


def _subject(request: web.Request) -> str:
    """The dataset, or whatever else the path names."""
    names = [request.match_info[name] for name in ("account", "name") if name in request.match_info]
    others = [text for name, text in request.match_info.items() if name not in _NOT_TOLD]
    return " ".join(["/".join(names), *others]).strip()
