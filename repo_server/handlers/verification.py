"""Having a dataset verified: a worker does it, here it is asked for and told how it goes."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from aiohttp import web

from catalog.jobs import VERIFY, JobId
from catalog.permissions import Access
from opendatafabric.errors import NotFound
from repo_server.event_stream import StreamedState, send_states
from repo_server.gate import VISIT, Visit, access_of
from repo_server.openapi.described import STRING, Answer, Parameter, Tag, describes, empty, json
from repo_server.problems import json_response
from repo_server.run_states import OVER, RunState, current_run, plain_run

_KNOWN: Final = Parameter("Last-Event-ID", "the state that the caller has", place="header")
_STREAM: Final = Answer({"text/event-stream": STRING}, says="events called `state`, until the run has ended")


@describes(Tag.REPOSITORY, json(RunState, HTTPStatus.ACCEPTED), refuses=(HTTPStatus.NOT_IMPLEMENTED,), shown=True)
async def post_verify(request: web.Request) -> web.StreamResponse:
    """``POST /{dataset}/verify``: the address of a run. One that waits or goes on already is the one."""
    found = request[VISIT].lying_here()
    account = found.caller.account
    assert account is not None  # whoever may write is known
    jobs = found.services.catalog.jobs
    run = await jobs.ask(_job_id(found), foreign=not account.is_admin, account_id=account.id)
    headers = {"Location": f"{found.services.base_url}{request.path}/{run}"}
    return json_response(await _plain(found, run), status=HTTPStatus.ACCEPTED, headers=headers)


@describes(Tag.REPOSITORY, json(RunState), shown=True)
async def get_verify(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}/verify``: the run that goes on or waits, else the last one."""
    found = request[VISIT]
    state = await found.services.catalog.jobs.state(_job_id(found))
    run = 0 if state is None else current_run(state, found.services.now())
    if run == 0:
        raise NotFound("the dataset was never verified here", hint="POST …/verify has it done")
    return json_response(await _plain(found, run))


@describes(Tag.REPOSITORY, json(RunState), shown=True)
async def get_run(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}/verify/{run}``."""
    found = request[VISIT]
    return json_response(await _plain(found, _run(request)))


@describes(Tag.REPOSITORY, _STREAM, empty(HTTPStatus.NO_CONTENT, "the caller knows the end"), parameters=(_KNOWN,))
async def get_events(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}/verify/{run}/events``: its states as they come, until it has ended."""
    found, run = request[VISIT], _run(request)

    async def read() -> StreamedState:
        plain = await _plain(found, run)
        return StreamedState(plain, plain["state"] in OVER)

    return await send_states(request, found.services, read)


async def _plain(found: Visit, run: int) -> RunState:
    services = found.services
    may_write = await access_of(services, found.dataset, found.caller) >= Access.WRITE
    state = await services.catalog.jobs.state(_job_id(found))
    return plain_run(state, run, now=services.now(), with_error=may_write)


def _run(request: web.Request) -> int:
    text = request.match_info["run"]
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise NotFound("a run is called by its number")
    return int(text)


def _job_id(found: Visit) -> JobId:
    return JobId(VERIFY, found.dataset.entry.id)
