"""What an answer that asks for a token says of why: ``WWW-Authenticate`` with the rule that refused (RFC 6750)."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Final

import orjson
from aiohttp import hdrs, web

from repo_server.problems import PROBLEM

_UNQUOTABLE: Final = re.compile(r"[^\x20\x21\x23-\x5b\x5d-\x7e]")
"""What may not stand in a description."""

_CHARS_MAX: Final = 200


def challenge(request: web.Request, response: web.StreamResponse) -> None:
    """Add the header to an answer that is 401 and has none, before what the answer says is made a page."""
    if response.status != HTTPStatus.UNAUTHORIZED or hdrs.WWW_AUTHENTICATE in response.headers:
        return
    error = "invalid_token" if hdrs.AUTHORIZATION in request.headers else "invalid_request"
    rule = _UNQUOTABLE.sub(" ", _said_in(response))[:_CHARS_MAX]
    response.headers[hdrs.WWW_AUTHENTICATE] = f'Bearer realm="odf", error="{error}", error_description="{rule}"'


def _said_in(response: web.StreamResponse) -> str:
    text = (response.text or "") if isinstance(response, web.Response) else ""
    if response.content_type not in {"application/json", PROBLEM}:
        return text if response.content_type == "text/plain" else ""
    told = orjson.loads(text)
    return str(told.get("message", "")) if isinstance(told, dict) else ""
