"""Browsers: who is logged in with one, and forms that only our own pages may send.

A browser is known by a cookie with a random id, which no script and no other site can read or send along with a form.
Every login begins a new id, so that nobody can plant one beforehand. A form carries a token that follows from the id,
and must come from our own address: either alone would do against forged forms, and neither is trusted alone.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from aiohttp import hdrs, web
from yarl import URL

from catalog.accounts import Account
from catalog.browser_sessions import new_session_id
from catalog.scopes import session_scopes, with_included
from catalog.tokens import Authenticated
from repo_server.body import Form, read_form
from repo_server.identity import ANONYMOUS, Caller
from repo_server.problems import Refused, message
from repo_server.services import SERVICES, Services

CSRF_FIELD: Final = "csrf"
_HOST_COOKIE: Final = "__Host-odf-session"
"""Browsers take this name over https alone, for one host and all its paths: no neighbour can plant it."""

_COOKIE: Final = "odf-session"
_ID_CHARS_MAX: Final = 100
_LOOKING: Final = frozenset({hdrs.METH_GET, hdrs.METH_HEAD})


@dataclass(frozen=True, slots=True)
class Session:
    """A browser; ``account`` is who is logged in with it."""

    id: str = field(repr=False)
    account: Account | None = None
    is_new: bool = False
    """The browser does not know it yet."""

    @property
    def csrf_token(self) -> str:
        """What forms of this browser carry in the field ``csrf``; the id does not follow from it."""
        return hashlib.sha256(b"form of " + self.id.encode(errors="replace")).hexdigest()


async def session_of(request: web.Request) -> Session:
    """The session of the browser, a new one without an account if it has none."""
    services = request.app[SERVICES]
    session_id = request.cookies.get(cookie_name(services), "")
    if not session_id or len(session_id) > _ID_CHARS_MAX:
        return Session(new_session_id(), is_new=True)
    return Session(session_id, await services.catalog.browser_sessions.account_of(session_id))


async def browsing_caller(request: web.Request) -> Caller:
    """Who looks at something with a browser. To change anything takes a form or a token: cookies do not count then."""
    if request.method not in _LOOKING or hdrs.UPGRADE in request.headers:
        return ANONYMOUS
    if cookie_name(request.app[SERVICES]) not in request.cookies:
        return ANONYMOUS
    account = (await session_of(request)).account
    if account is None:
        return ANONYMOUS
    return Caller(Authenticated(account, with_included(session_scopes(is_admin=account.is_admin))))


async def log_in(request: web.Request, response: web.Response, account: Account) -> None:
    """Let the browser act for ``account`` from now on, under an id that nobody knew before."""
    services = request.app[SERVICES]
    await _forget(request)
    session_id = await services.catalog.browser_sessions.begin(account, lasts_s=services.settings.session_s)
    _set_cookie(services, response, session_id)


async def log_out(request: web.Request, response: web.Response) -> None:
    """End the session, here and in the browser."""
    services = request.app[SERVICES]
    await _forget(request)
    is_secure = _is_secure(services)
    response.del_cookie(cookie_name(services), path="/", secure=is_secure, httponly=True, samesite="Lax")


def remember(request: web.Request, response: web.Response, session: Session) -> None:
    """Tell the browser a session that it does not know, before a form of it is shown."""
    if session.is_new:
        _set_cookie(request.app[SERVICES], response, session.id)


async def checked_form(request: web.Request) -> Form:
    """The fields of a form that was sent from one of our pages, by the browser that the page was made for.

    Raises:
        Refused: it came from elsewhere, or is no form.
    """
    services = request.app[SERVICES]
    own = str(URL(services.base_url).origin())
    if request.headers.get(hdrs.ORIGIN) != own:
        raise _forged(f"forms are taken from {own} only")
    form = await read_form(request, services.settings)
    session = await session_of(request)
    given = "".join(form.all(CSRF_FIELD)).encode(errors="replace")
    if session.is_new or not hmac.compare_digest(given, session.csrf_token.encode()):
        raise _forged("the page was open for too long, or cookies are off: load it again")
    return form


def cookie_name(services: Services) -> str:
    """What the cookie is called here."""
    return _HOST_COOKIE if _is_secure(services) else _COOKIE


async def _forget(request: web.Request) -> None:
    services = request.app[SERVICES]
    session_id = request.cookies.get(cookie_name(services))
    if session_id is not None:
        await services.catalog.browser_sessions.end(session_id)


def _set_cookie(services: Services, response: web.Response, session_id: str) -> None:
    is_secure = _is_secure(services)
    response.set_cookie(
        cookie_name(services),
        session_id,
        max_age=int(services.settings.session_s),
        path="/",
        secure=is_secure,
        httponly=True,
        samesite="Lax",
    )


def _is_secure(services: Services) -> bool:
    return services.base_url.startswith("https:")


def _forged(text: str) -> Refused:
    return Refused(message(text, HTTPStatus.FORBIDDEN))
