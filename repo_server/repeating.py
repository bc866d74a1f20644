"""Requests that may be sent again (``Idempotency-Key``, draft-ietf-httpapi-idempotency-key-header): done once.

What went well is kept and answered again; what was refused may be sent again under the same key. Answers that hold a
secret are not kept: who sends such a request again learns that it was done.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from enum import Enum
from http import HTTPStatus
from typing import Final

from aiohttp import hdrs, web

from catalog.repeats import KeptAnswer, RepeatKey
from opendatafabric.errors import Conflict, MalformedInput
from opendatafabric.limits import IDEMPOTENCY_KEY_CHARS_MAX
from opendatafabric.multihash import physical_hash
from repo_server.body import JSON_BODY_BYTES_MAX, keep_body
from repo_server.gate import CALLER
from repo_server.services import SERVICES

KEY: Final = "Idempotency-Key"
REPEATED: Final = "Idempotent-Replayed"
_KEY: Final = re.compile(rf"[\x21-\x7e]{{1,{IDEMPOTENCY_KEY_CHARS_MAX}}}", re.ASCII)
_KEPT_HEADERS: Final = (hdrs.LOCATION, hdrs.CONTENT_TYPE)


class Repeats(Enum):
    """What becomes of the answer to a request that may be sent again."""

    KEPT = "kept"
    SECRET = "secret"


async def once(
    request: web.Request, repeats: Repeats, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """What ``handler`` answers, or did before. The caller has been let through.

    Raises:
        MalformedInput: no key.
        Conflict: it is being done, or was done and its answer is not kept.
        OtherRequest: the key stands for another request.
    """
    account = request[CALLER].account
    if KEY not in request.headers or account is None:
        return await handler(request)
    services, name = request.app[SERVICES], key_of(request)
    body = await keep_body(request, services.settings, JSON_BODY_BYTES_MAX)
    kept, key = services.catalog.repeats, RepeatKey(account.id, name, print_of(request.method, request.path_qs, body))
    before = await kept.begin(key)
    if before is not None:
        return _again(before)
    try:
        response = await handler(request)
    except BaseException:
        await asyncio.shield(kept.give_up(key))
        raise
    if not isinstance(response, web.Response) or response.status >= HTTPStatus.MULTIPLE_CHOICES:
        await kept.give_up(key)
        return response
    headers = {str(name): response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
    answer = KeptAnswer(response.status, headers, None if repeats is Repeats.SECRET else _bytes_of(response))
    await asyncio.shield(kept.end(key, answer))
    return response


def key_of(request: web.Request) -> str:
    """The key of a request that has one; ``MalformedInput`` if it is none."""
    key = request.headers[KEY]
    if _KEY.fullmatch(key) is None:
        raise MalformedInput(f"header {KEY} is 1 to {IDEMPOTENCY_KEY_CHARS_MAX} visible ASCII characters")
    return key


def print_of(method: str, path: str, body: bytes) -> bytes:
    """What tells a request from others: all it asks for."""
    return bytes(physical_hash(f"{method} {path}\n".encode() + body))


def _again(before: KeptAnswer) -> web.Response:
    if before.body is None:
        raise Conflict(
            "this request was done before; its answer held a secret, which is not kept", hint="take a new key"
        )
    return web.Response(status=before.status, headers={**before.headers, REPEATED: "true"}, body=before.body)


def _bytes_of(response: web.Response) -> bytes:
    assert response.body is None or isinstance(response.body, bytes), "an answer that is kept is whole"
    return response.body or b""
