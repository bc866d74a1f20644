"""Around every request: a number for it, a line in the log, errors as answers, and what browsers ask for."""

from __future__ import annotations

import asyncio
import itertools
import re
import secrets
import time
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final

from aiohttp import web

from opendatafabric.errors import OdfError
from repo_server import auditing
from repo_server.challenges import challenge
from repo_server.conversations import ANSWERED
from repo_server.cors import is_preflight, preflight
from repo_server.error_table import status_of
from repo_server.http_errors import ServerBusy
from repo_server.logs import REQUESTS, SERVER
from repo_server.problems import Refused, json_response, plain, problem, refusal_as_problem
from repo_server.rate_limits import tell_standing
from repo_server.reference_routes import speaks_as_reference
from repo_server.refusal_pages import as_page
from repo_server.services import SERVICES

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
REQUEST_ID: Final = "X-Request-Id"
_GIVEN_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
_CLIENT_GONE: Final = 499
_PROCESS: Final = secrets.token_hex(4)
_NUMBERS: Final = itertools.count(1)


@web.middleware
async def around(request: web.Request, handler: Handler) -> web.StreamResponse:
    """The one middleware; everything else is beside the handlers."""
    given = request.headers.get(REQUEST_ID, "")
    request_id = given if _GIVEN_ID.fullmatch(given) else f"{_PROCESS}-{next(_NUMBERS):x}"
    started = time.perf_counter()
    status: int | None = None
    auditing.begin(request, request_id)
    try:
        response = await _answered(request, handler, request_id)
        challenge(request, response)
        response = as_page(request, response)
        status = response.status
        if not response.prepared:
            response.headers[REQUEST_ID] = request_id
            tell_standing(request, response)
            _close_if_unread(request, response)
        await auditing.answered(request, status)
        return response
    finally:
        if status is None:
            auditing.broken_off(request)
        services, answered = request.app[SERVICES], status or request.get(ANSWERED, _CLIENT_GONE)
        seconds = time.perf_counter() - started
        services.metrics.answered(request.method, answered, route_of(request), seconds)
        if services.settings.access_log:
            _log(request, request_id, answered, seconds)


def route_of(request: web.Request) -> str | None:
    """The pattern of the route that took the request, such as ``/{account}/{name}/blocks/{hash}``."""
    resource = request.match_info.route.resource
    return None if resource is None else resource.canonical


async def _answered(request: web.Request, handler: Handler, request_id: str) -> web.StreamResponse:
    if is_preflight(request):
        return await preflight(request)
    services = request.app[SERVICES]
    if services.busy():
        return problem(ServerBusy("too many requests at once"), request_id)
    services.requests += 1
    try:
        return await _handled(request, handler, request_id)
    except (ConnectionError, asyncio.CancelledError):
        raise
    except OdfError as error:
        auditing.tell(request, code=error.code)
        if status_of(type(error)) is not HTTPStatus.INTERNAL_SERVER_ERROR:
            return problem(error, request_id)
        SERVER.error("a request failed: %s", error, exc_info=error, extra={"fields": {"request_id": request_id}})
        failed = web.Response(status=HTTPStatus.INTERNAL_SERVER_ERROR)
        return failed if speaks_as_reference(request) else problem(error, request_id)
    except Exception as error:
        SERVER.error("a request crashed", exc_info=error, extra={"fields": {"request_id": request_id}})
        crashed = json_response({"error": "Internal Server Error"}, status=HTTPStatus.INTERNAL_SERVER_ERROR)
        return crashed if speaks_as_reference(request) else problem(OdfError("crashed"), request_id)
    finally:
        services.requests -= 1


async def _handled(request: web.Request, handler: Handler, request_id: str) -> web.StreamResponse:
    try:
        return await handler(request)
    except Refused as refused:
        bare = speaks_as_reference(request)
        return refused.response if bare else refusal_as_problem(refused.response, request_id)
    except web.HTTPException as error:
        return _of_the_router(error)


def _of_the_router(error: web.HTTPException) -> web.Response:
    if isinstance(error, web.HTTPNotFound):
        return plain("Not Found", HTTPStatus.NOT_FOUND)
    if isinstance(error, web.HTTPMethodNotAllowed):
        return web.Response(status=error.status, headers={"Allow": ",".join(sorted(error.allowed_methods))})
    return plain(error.reason, HTTPStatus(error.status))


def _close_if_unread(request: web.Request, response: web.StreamResponse) -> None:
    # Reading a body that was refused only to keep the connection would let anybody keep us busy.
    if request.can_read_body and not request.content.is_eof():
        response.force_close()


def _log(request: web.Request, request_id: str, status: int, seconds: float) -> None:
    fields = {
        "request_id": request_id,
        "method": request.method,
        "path": request.path[:500],
        "status": status,
        "ms": round(seconds * 1_000, 1),
        "peer": request.remote,
    }
    REQUESTS.info("%s %s %d", request.method, request.path[:500], status, extra={"fields": fields})
