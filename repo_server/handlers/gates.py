"""The gate before the head of a dataset: seen by those who may write it, and set by them."""

from __future__ import annotations

from http import HTTPStatus

from aiohttp import web
from typing_extensions import TypedDict

from catalog.gates import Gate
from catalog.jobs import PROMOTE, JobId
from opendatafabric.block_ref import STAGING
from opendatafabric.errors import MalformedInput, RefNotFound
from repo_server.body import read_json
from repo_server.gate import VISIT, Visit
from repo_server.openapi.described import JSON, Body, Tag, describes, empty, json
from repo_server.problems import json_response
from repo_server.run_states import RunState, current_run, plain_run
from verify.promotion import forget_staged


class GateState(TypedDict):
    """Whether pushes are verified first, what is staged, and the run that looks at it."""

    on: bool
    replay: bool
    staged: str | None
    run: RunState | None


class GateWanted(TypedDict, total=False):
    """``replay`` to have transforms repeated too."""

    replay: bool


@describes(Tag.REPOSITORY, json(GateState), shown=True)
async def get_gate(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}/gate``."""
    return json_response(await _plain(request[VISIT]))


@describes(
    Tag.REPOSITORY,
    json(GateState),
    refuses=(HTTPStatus.NOT_IMPLEMENTED,),
    body=Body({JSON: GateWanted}, {"replay": False}),
    shown=True,
)
async def put_gate(request: web.Request) -> web.StreamResponse:
    """``PUT /{dataset}/gate``: what is pushed from now on is verified first."""
    found = request[VISIT].lying_here()
    body = await read_json(request, found.services.settings)
    if set(body) - {"replay"} or not isinstance(body.get("replay", False), bool):
        raise MalformedInput("a gate has one field", expected='{"replay": true} or {}')
    await found.services.catalog.gates.set(found.dataset.entry.id, Gate(bool(body.get("replay", False))))
    return json_response(await _plain(found))


@describes(Tag.REPOSITORY, empty(HTTPStatus.NO_CONTENT), shown=True)
async def delete_gate(request: web.Request) -> web.StreamResponse:
    """``DELETE /{dataset}/gate``: what is staged is forgotten; it may be pushed again."""
    found = request[VISIT]
    await found.services.catalog.gates.remove(found.dataset.entry.id)
    await forget_staged(found.dataset.entry.dataset)
    return web.Response(status=HTTPStatus.NO_CONTENT)


@describes(Tag.REPOSITORY, json(GateState, HTTPStatus.ACCEPTED))
async def post_gate(request: web.Request) -> web.StreamResponse:
    """``POST /{dataset}/gate``: have what is staged verified once more."""
    found = request[VISIT]
    if await found.dataset.entry.dataset.head(STAGING) is None:
        raise RefNotFound("nothing is staged")
    await found.services.catalog.jobs.ask(_job_id(found))
    return json_response(await _plain(found), status=HTTPStatus.ACCEPTED)


async def _plain(found: Visit) -> GateState:
    services, entry = found.services, found.dataset.entry
    gate, staged = await services.catalog.gates.find(entry.id), await entry.dataset.head(STAGING)
    state, now = await services.catalog.jobs.state(_job_id(found)), services.now()
    run = 0 if state is None else current_run(state, now)
    return {
        "on": gate is not None,
        "replay": gate is not None and gate.replay,
        "staged": None if staged is None else str(staged),
        "run": plain_run(state, run, now=now, with_error=True) if run else None,
    }


def _job_id(found: Visit) -> JobId:
    return JobId(PROMOTE, found.dataset.entry.id)
