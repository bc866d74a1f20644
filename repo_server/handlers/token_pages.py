"""Where a person sees the tokens of their account, makes new ones and ends them, with a browser."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from aiohttp import web
from yarl import URL

from catalog.accounts import Account
from catalog.scopes import Scope, parse_patterns
from opendatafabric.errors import LimitExceeded, MalformedInput, NotFound
from repo_server.auditing import tell, whose
from repo_server.body import Form
from repo_server.handlers.browser_login import to_page
from repo_server.handlers.device import LOGIN_PATH
from repo_server.html_response import frame_of
from repo_server.openapi.described import FORM, STRING, Body, Tag, describes, empty, page
from repo_server.pages.frame import FORM_HEADERS
from repo_server.pages.token_page import TokenNews, token_page
from repo_server.services import SERVICES
from repo_server.sessions import Session, checked_form, session_of

TOKENS_PATH: Final = "/v/tokens"
_DAY_S: Final = 86_400
_DAYS_MAX: Final = 3_660
_FORM: Final = Body({FORM: {"type": "object", "additionalProperties": STRING}})
_TO_LOGIN: Final = empty(HTTPStatus.SEE_OTHER, "nobody is logged in with this browser")


@describes(Tag.PAGES, page(), _TO_LOGIN)
async def get_tokens(request: web.Request) -> web.StreamResponse:
    """``GET /v/tokens``: the tokens of whoever is logged in."""
    session = await session_of(request)
    if session.account is None:
        return _to_login(request)
    return await _shown(request, session, session.account, TokenNews())


@describes(
    Tag.PAGES,
    page("with the text of the new token"),
    page("what was filled in cannot be used", HTTPStatus.BAD_REQUEST),
    _TO_LOGIN,
    refuses=(HTTPStatus.FORBIDDEN,),
    body=_FORM,
)
async def post_token(request: web.Request) -> web.StreamResponse:
    """``POST /v/tokens``: a new one. Its text is shown on this answer and nowhere else."""
    form, session = await checked_form(request), await session_of(request)
    if session.account is None:
        return _to_login(request)
    tell(request, **whose(session.account))
    try:
        made = await _made(request, session.account, form)
    except (MalformedInput, LimitExceeded) as error:
        news = TokenNews(wrong=error.message)
        return await _shown(request, session, session.account, news, HTTPStatus.BAD_REQUEST)
    return await _shown(request, session, session.account, TokenNews(made=made))


@describes(Tag.PAGES, _TO_LOGIN, refuses=(HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND), body=_FORM)
async def post_revocation(request: web.Request) -> web.StreamResponse:
    """``POST /v/tokens/revoke``: end one of one's own tokens."""
    form, session = await checked_form(request), await session_of(request)
    if session.account is None:
        return _to_login(request)
    tell(request, **whose(session.account))
    tokens, token_id = request.app[SERVICES].catalog.tokens, form.one("token")
    if token_id not in {each.id for each in await tokens.list(session.account)}:
        raise NotFound("you have no such token")
    await tokens.revoke(token_id)
    return to_page(request, TOKENS_PATH)


async def _made(request: web.Request, account: Account, form: Form) -> str:
    scopes = frozenset(map(Scope.from_text, form.all("scope")))
    if not scopes:
        raise MalformedInput("a token is for something: choose at least one")
    if Scope.ADMIN in scopes and not account.is_admin:
        raise MalformedInput("only administrators have tokens for everything")
    patterns = parse_patterns(form.one("datasets").split())
    services = request.app[SERVICES]
    expires_at = services.now() + _days(form.one("days")) * _DAY_S
    return await services.catalog.tokens.create(account, scopes, datasets=patterns, expires_at=expires_at)


def _days(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(_DAYS_MAX)) and 1 <= int(text) <= _DAYS_MAX):
        raise MalformedInput(f"a token is good for 1 to {_DAYS_MAX} days")
    return int(text)


async def _shown(
    request: web.Request, session: Session, account: Account, news: TokenNews, status: HTTPStatus = HTTPStatus.OK
) -> web.Response:
    services = request.app[SERVICES]
    tokens = await services.catalog.tokens.list(account)
    shown = token_page(
        tokens,
        news,
        frame_of(request, account=account),
        now=services.now(),
        csrf_token=session.csrf_token,
        days=round(services.settings.token_days),
    )
    return web.Response(text=shown, content_type="text/html", headers=FORM_HEADERS, status=status)


def _to_login(request: web.Request) -> web.Response:
    return to_page(request, str(URL(LOGIN_PATH).with_query(onward=TOKENS_PATH)))
