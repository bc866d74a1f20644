"""What happens to datasets, as server-sent events: to all that the caller may see, or to one.

An event's id is its number: whoever comes back with ``Last-Event-ID`` goes on where it was.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import orjson
from aiohttp import web

from catalog.events import Event
from opendatafabric.errors import MalformedIdentifier, MalformedInput
from opendatafabric.names import AccountName
from repo_server.event_states import told_event
from repo_server.event_stream import ALIVE_EVERY_S, STREAM_S_MAX, WAITING, stream_of
from repo_server.gate import CALLER, VISIT, caller_again, listening
from repo_server.hearing import may_hear
from repo_server.http_errors import ServerBusy
from repo_server.identity import Caller
from repo_server.openapi.described import STRING, Answer, Parameter, Tag, describes
from repo_server.services import SERVICES, Services

_DIGITS_MAX: Final = 18
_KNOWN: Final = Parameter("Last-Event-ID", "the number of the last event that the caller has", place="header")
_ACCOUNT: Final = Parameter("account", "only datasets of that account", value="alice")
_STREAM: Final = Answer({"text/event-stream": STRING}, says="events called by their type, without end")

Wanted = Callable[[Event, Caller], Awaitable[bool]]


@describes(Tag.REPOSITORY, _STREAM, parameters=(_ACCOUNT, _KNOWN), shown=True)
async def get_events(request: web.Request) -> web.StreamResponse:
    """``GET /events``."""
    services = request.app[SERVICES]
    account = _account(request)

    async def wanted(event: Event, caller: Caller) -> bool:
        of_account = account is None or (event.alias or "").lower().startswith(f"{account.folded}/")
        return of_account and await may_hear(services, event, caller)

    return await _send(request, services, wanted)


@describes(Tag.REPOSITORY, _STREAM, parameters=(_KNOWN,), shown=True)
async def get_dataset_events(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}/events``."""
    found = request[VISIT]
    dataset_id = found.dataset.entry.id

    async def wanted(event: Event, caller: Caller) -> bool:
        return event.dataset_id == dataset_id and await may_hear(found.services, event, caller, named=True)

    return await _send(request, found.services, wanted)


async def _send(request: web.Request, services: Services, wanted: Wanted) -> web.StreamResponse:
    number = await _first_number(request, services)
    if services.listeners >= services.settings.listeners_at_once:
        raise ServerBusy("too many listen to events")
    services.listeners += 1
    services.requests -= 1
    try:
        with listening(request):
            async with stream_of(request) as response:
                await _send_on(request, response, services, number, wanted)
        return response
    finally:
        services.listeners -= 1
        services.requests += 1


async def _send_on(
    request: web.Request, response: web.StreamResponse, services: Services, number: int, wanted: Wanted
) -> None:
    ends_at = time.monotonic() + STREAM_S_MAX
    say = partial(_said, source=services.base_url)
    # Whoever is cut off before anything happened comes back to here, not to what is the newest then.
    await response.write(b"id: %d\n\n" % number)
    while not services.stopping and time.monotonic() < ends_at:
        found = await services.feed.after(number, patience_s=ALIVE_EVERY_S)
        caller = await caller_again(request)
        if caller.account is None and (caller.reason or request[CALLER].account):
            return  # a token or a session has ended while somebody listened
        said = [services.feed.said(each, say) for each in found if await wanted(each, caller)]
        await response.write(b"".join(said) or WAITING)
        number = found[-1].id if found else number


async def _first_number(request: web.Request, services: Services) -> int:
    newest = await services.feed.newest()
    known = request.headers.get("Last-Event-ID")
    if known is None:
        return newest
    if not (known.isascii() and known.isdigit() and len(known) <= _DIGITS_MAX):
        raise MalformedInput("an event is called by its number", expected="Last-Event-ID: 42")
    return min(int(known), newest)


def _said(event: Event, source: str) -> bytes:
    body = orjson.dumps(told_event(event, source=source))
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (event.id, event.type.encode(), body)


def _account(request: web.Request) -> AccountName | None:
    name = request.query.get("account")
    try:
        return None if name is None else AccountName(name)
    except MalformedIdentifier as error:
        raise MalformedInput(error.message) from None
