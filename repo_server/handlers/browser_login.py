"""Where a person logs in with a browser, and lets programs in that wait for it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from aiohttp import web
from yarl import URL

from opendatafabric.errors import AuthenticationRequired, Conflict, MalformedIdentifier, NotFound
from opendatafabric.login_limits import PAGE_PATH_CHARS_MAX
from repo_server.auditing import address_of, tell, whose
from repo_server.counting import checked_password
from repo_server.handlers.device import LOGIN_PATH
from repo_server.html_response import frame_of
from repo_server.openapi.described import FORM, STRING, Body, Parameter, Tag, describes, empty, page
from repo_server.pages.frame import FORM_HEADERS
from repo_server.pages.login_pages import device_page, login_page, told_page
from repo_server.services import SERVICES
from repo_server.sessions import Session, checked_form, log_in, log_out, remember, session_of

_ENDED: Final = "This login has ended or was decided already. Begin it again in the program that asked."


_FORM: Final = Body({FORM: {"type": "object", "additionalProperties": STRING}})
_FORGED: Final = (HTTPStatus.FORBIDDEN,)
_ONWARD: Final = empty(HTTPStatus.SEE_OTHER, "on to a page of this server")


@describes(
    Tag.PAGES,
    page(),
    page("nothing waits for this code", HTTPStatus.NOT_FOUND),
    parameters=(Parameter("deviceCode", "the program that waits"), Parameter("onward", "the page to go on to")),
    shown=True,
)
async def get_login(request: web.Request) -> web.StreamResponse:
    """``GET /v/login``: log in; with ``?deviceCode=`` decide on a program, with ``?onward=`` go on to that page."""
    session, code = await session_of(request), request.query.get("deviceCode")
    if session.account is None or code is None:
        onward = onward_of(request.query.get("onward", "")) if code is None else str(_at_device(code))
        return _shown(request, session, _login_form(request, session, onward))
    try:
        waiting = await request.app[SERVICES].catalog.device_logins.look(code)
    except NotFound:
        return _told(request, "Nothing to allow", _ENDED, HTTPStatus.NOT_FOUND)
    return _shown(request, session, device_page(session, frame_of(request, account=session.account), code, waiting))


@describes(Tag.PAGES, _ONWARD, page("no such name and password", HTTPStatus.UNAUTHORIZED), refuses=_FORGED, body=_FORM)
async def post_login(request: web.Request) -> web.StreamResponse:
    """``POST /v/login``: name and password."""
    form = await checked_form(request)
    onward = onward_of("".join(form.all("onward")))
    try:
        account = await checked_password(
            request.app[SERVICES], form.one("login").strip(), form.one("password"), address=address_of(request)
        )
    except (AuthenticationRequired, MalformedIdentifier):
        session = await session_of(request)
        return _shown(request, session, _login_form(request, session, onward, failed=True), HTTPStatus.UNAUTHORIZED)
    response = to_page(request, onward)
    tell(request, **whose(account))
    await log_in(request, response, account)
    return response


@describes(Tag.PAGES, _ONWARD, refuses=_FORGED, body=_FORM)
async def post_logout(request: web.Request) -> web.StreamResponse:
    """``POST /v/logout``."""
    await checked_form(request)
    response = to_page(request, LOGIN_PATH)
    await log_out(request, response)
    return response


@describes(
    Tag.PAGES, page(), _ONWARD, page("ended, or decided already", HTTPStatus.CONFLICT), refuses=_FORGED, body=_FORM
)
async def post_device(request: web.Request) -> web.StreamResponse:
    """``POST /v/device``: what the person decided on a program that waits."""
    form = await checked_form(request)
    code, decision = form.one("deviceCode"), form.one("decision")
    account = (await session_of(request)).account
    if account is None:
        return to_page(request, str(_at_device(code)))
    logins = request.app[SERVICES].catalog.device_logins
    tell(request, decision=decision, **whose(account))
    try:
        if decision != "allow":
            await logins.deny(code)
            return _told(request, "Denied", "The program gets nothing. You can close this page.")
        await logins.approve(code, account)
    except Conflict:
        return _told(request, "Nothing to allow", _ENDED, HTTPStatus.CONFLICT)
    return _told(request, "Allowed", "The program goes on by itself. You can close this page.")


def onward_of(path: str) -> str:
    """``path`` if it is a page of this server, else the page that says who is logged in."""
    is_ours = path.startswith("/") and not path.startswith("//") and "\\" not in path and path.isprintable()
    return path if is_ours and len(path) <= PAGE_PATH_CHARS_MAX else LOGIN_PATH


def to_page(request: web.Request, path: str) -> web.Response:
    """Send a browser on to a page of ours."""
    headers = {"Location": request.app[SERVICES].base_url + path, "Cache-Control": "no-store"}
    return web.Response(status=HTTPStatus.SEE_OTHER, headers=headers)


def _login_form(request: web.Request, session: Session, onward: str, *, failed: bool = False) -> str:
    settings = request.app[SERVICES].settings
    external = settings.oidc_label if settings.oidc_issuer and settings.oidc_client_id else None
    return login_page(
        session, frame_of(request, account=session.account), external=external, onward=onward, failed=failed
    )


def _at_device(code: str) -> URL:
    return URL(LOGIN_PATH).with_query(deviceCode=code)


def _shown(request: web.Request, session: Session, page: str, status: HTTPStatus = HTTPStatus.OK) -> web.StreamResponse:
    response = web.Response(text=page, content_type="text/html", headers=FORM_HEADERS, status=status)
    remember(request, response, session)
    return response


def _told(request: web.Request, title: str, text: str, status: HTTPStatus = HTTPStatus.OK) -> web.Response:
    page = told_page(frame_of(request), title, text)
    return web.Response(text=page, content_type="text/html", headers=FORM_HEADERS, status=status)
