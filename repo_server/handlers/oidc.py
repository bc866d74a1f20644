"""Logging a browser in at an issuer of OpenID Connect: to it, and back."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from aiohttp import web

from opendatafabric.errors import AccessDenied, AuthenticationRequired, NameCollision, OdfError
from repo_server.auditing import whose, write_now
from repo_server.handlers.browser_login import onward_of, to_page
from repo_server.html_response import frame_of
from repo_server.oidc.external_login import account_of, begun, issuer_page, redeemed, resumed
from repo_server.openapi.described import Parameter, Tag, describes, empty, page
from repo_server.pages.frame import FORM_HEADERS
from repo_server.pages.login_pages import told_page
from repo_server.services import SERVICES
from repo_server.sessions import log_in, remember, session_of

_ISSUER_FAILS: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.BAD_GATEWAY, HTTPStatus.NOT_IMPLEMENTED)


@describes(
    Tag.PAGES,
    empty(HTTPStatus.SEE_OTHER, "to the issuer"),
    refuses=_ISSUER_FAILS,
    parameters=(Parameter("onward", "the page to go on to"),),
)
async def get_login(request: web.Request) -> web.StreamResponse:
    """``GET /v/oidc/login``: send the browser to the issuer; ``?onward=`` is the page to go on to afterwards."""
    services, session = request.app[SERVICES], await session_of(request)
    attempt = begun(session, onward_of(request.query.get("onward", "")), now=services.now())
    headers = {"Location": await issuer_page(services, attempt), "Cache-Control": "no-store"}
    response = web.Response(status=HTTPStatus.SEE_OTHER, headers=headers)
    remember(request, response, session)
    return response


@describes(
    Tag.PAGES,
    empty(HTTPStatus.SEE_OTHER, "on to a page of this server"),
    page("the issuer vouches for nobody", HTTPStatus.UNAUTHORIZED),
    page("this identity is not let in", HTTPStatus.FORBIDDEN),
    refuses=_ISSUER_FAILS[1:],
    parameters=tuple(Parameter(name, "as the issuer has it") for name in ("state", "code", "iss", "error")),
)
async def get_callback(request: web.Request) -> web.StreamResponse:
    """``GET /v/oidc/callback``: the browser comes back from the issuer with a code, or with its refusal."""
    services = request.app[SERVICES]
    try:
        attempt = resumed(await session_of(request), request.query.get("state", ""), now=services.now())
        _check_issuer(request)
        claims = await redeemed(services, request.query.get("code", ""), attempt)
        account = await account_of(services, claims)
    except (AuthenticationRequired, AccessDenied, NameCollision) as error:
        return _refused(request, error)
    response = to_page(request, onward_of(attempt.onward))
    await log_in(request, response, account)
    await write_now(request, issuer=claims["iss"], **whose(account))
    return response


def _check_issuer(request: web.Request) -> None:
    # An answer of another issuer must not be taken to ours (RFC 9207).
    own, named = request.app[SERVICES].settings.oidc_issuer, request.query.get("iss")
    if named is not None and named != own:
        raise AuthenticationRequired("this is the answer of another issuer")
    if "code" not in request.query:
        raise AuthenticationRequired("the issuer let nobody in", found=request.query.get("error", "")[:100])


def _refused(request: web.Request, error: OdfError) -> web.Response:
    status = HTTPStatus.UNAUTHORIZED if isinstance(error, AuthenticationRequired) else HTTPStatus.FORBIDDEN
    said = f"{error.message[:1].upper()}{error.message[1:]}."
    told = told_page(frame_of(request), "Not logged in", said)
    return web.Response(text=told, content_type="text/html", headers=FORM_HEADERS, status=status)
