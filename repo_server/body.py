"""Taking in request bodies from clients that may be slow, silent, wrong or gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qsl

import orjson
from aiohttp import web

from opendatafabric.login_limits import FORM_BYTES_MAX, FORM_FIELDS_MAX
from repo_server.config import Settings
from repo_server.problems import Refused, message, plain

JSON_BODY_BYTES_MAX = 64 * 1024
"""Largest JSON body: a login."""

_KEPT = web.RequestKey("body", bytes)
_FORM = "application/x-www-form-urlencoded"
_UNSUPPORTED = HTTPStatus.UNSUPPORTED_MEDIA_TYPE


def announced_length(request: web.Request, size_max: int) -> int:
    """The length of the body, which must be announced and bounded.

    Raises:
        Refused: no length, an encoded body, or more than ``size_max``.
    """
    length = length_if_announced(request, size_max)
    if length is None:
        raise Refused(plain("Content-Length header is missing", HTTPStatus.BAD_REQUEST))
    return length


def length_if_announced(request: web.Request, size_max: int) -> int | None:
    """The length of the body if it says so; ``None`` for one that comes in chunks.

    Raises:
        Refused: an encoded body, or more than ``size_max``.
    """
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise Refused(message("a body must be sent as it is, without Content-Encoding", _UNSUPPORTED))
    length = request.content_length
    if length is not None and length > size_max:
        raise Refused(message(f"at most {size_max} bytes are taken", HTTPStatus.REQUEST_ENTITY_TOO_LARGE))
    return length


def pieces_of(request: web.Request, settings: Settings) -> AsyncIterator[bytes]:
    """The body piece by piece; errors as ``patiently``."""
    return patiently(request.content.readany, settings)


async def patiently(read: Callable[[], Awaitable[bytes]], settings: Settings) -> AsyncIterator[bytes]:
    """What ``read`` gives until it gives nothing.

    Only the time spent waiting for the client counts against it, not what we need for writing.

    Raises:
        Refused: a longer silence, or on average a slower rate, than the settings allow.
    """
    loop = asyncio.get_running_loop()
    size, waited = 0, 0.0
    while True:
        earned = settings.stall_s + size / settings.body_bytes_per_s_min - waited
        began = loop.time()
        try:
            async with asyncio.timeout(min(settings.stall_s, earned)):
                piece = await read()
        except TimeoutError:
            raise Refused(message("the body comes too slowly", HTTPStatus.REQUEST_TIMEOUT)) from None
        waited += loop.time() - began
        if not piece:
            return
        size += len(piece)
        yield piece


async def read_json(
    request: web.Request, settings: Settings, *, size_max: int = JSON_BODY_BYTES_MAX
) -> dict[str, object]:
    """A small JSON object.

    Raises:
        Refused: another media type (415), too long (413), no JSON (400), no object (422).
    """
    body = await read_json_text(request, settings, size_max=size_max)
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise Refused(plain("Failed to parse the request body as JSON", HTTPStatus.BAD_REQUEST)) from None
    if not isinstance(value, dict):
        raise Refused(plain("expected a JSON object", HTTPStatus.UNPROCESSABLE_ENTITY))
    return value


async def read_json_text(request: web.Request, settings: Settings, *, size_max: int) -> bytes:
    """The text of a body that says it is JSON.

    Raises:
        Refused: another media type (415), too long (413).
    """
    if request.content_type != "application/json":
        raise Refused(plain("Expected request with `Content-Type: application/json`", _UNSUPPORTED))
    return await _read(request, settings, size_max)


@dataclass(frozen=True, slots=True)
class Form:
    """What was filled in: names and values in the order of the page, a name perhaps several times."""

    fields: tuple[tuple[str, str], ...]

    def all(self, name: str) -> tuple[str, ...]:
        """Every value of that name."""
        return tuple(value for given, value in self.fields if given == name)

    def one(self, name: str) -> str:
        """The one value of that name.

        Raises:
            Refused: none (422) or several (400).
        """
        found = self.all(name)
        if len(found) > 1:
            raise Refused(plain(f"Failed to deserialize form body: duplicate field `{name}`", HTTPStatus.BAD_REQUEST))
        if not found:
            text = f"Failed to deserialize form body: missing field `{name}`"
            raise Refused(plain(text, HTTPStatus.UNPROCESSABLE_ENTITY))
        return found[0]


async def read_form(request: web.Request, settings: Settings) -> Form:
    """A small form as pages and logins send it.

    Raises:
        Refused: another media type (415), too long (413), no such form (400).
    """
    if request.content_type != _FORM:
        raise Refused(plain(f"Form requests must have `Content-Type: {_FORM}`", _UNSUPPORTED))
    body = await _read(request, settings, FORM_BYTES_MAX)
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=FORM_FIELDS_MAX)
    except ValueError:
        raise Refused(plain("Failed to deserialize form body", HTTPStatus.BAD_REQUEST)) from None
    return Form(tuple(pairs))


async def keep_body(request: web.Request, settings: Settings, size_max: int) -> bytes:
    """The body, which is there for whoever reads it next too.

    Raises:
        Refused: too long (413), or as ``patiently``.
    """
    if _KEPT not in request:
        request[_KEPT] = await _read(request, settings, size_max)
    return request[_KEPT]


async def _read(request: web.Request, settings: Settings, size_max: int) -> bytes:
    if _KEPT in request:
        return request[_KEPT]
    body = b""
    async for piece in pieces_of(request, settings):
        body += piece
        if len(body) > size_max:
            raise Refused(plain("the body is too long", HTTPStatus.REQUEST_ENTITY_TOO_LARGE))
    return body
