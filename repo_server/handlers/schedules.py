"""When a dataset is polled, computed or verified: read by those who may read it, set by those who may write.

``?job=verify`` means its verification; else a root is polled, a derivative computed. What is computed or verified for
somebody is computed from what he may read, which is looked at now and again in each run.
"""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import Any, Final

from aiohttp import web
from typing_extensions import TypedDict

from catalog.jobs import POLL, TRANSFORM, VERIFY, JobId, kind_for
from catalog.permissions import Access
from catalog.run_times import Schedule
from catalog.schedules import unscheduled
from opendatafabric.did import DatasetId
from opendatafabric.errors import EngineDied, EngineUnavailable, MalformedInput, UnsupportedOperation
from opendatafabric.metadata.events import SetPollingSource, SetTransform
from pipeline.commit import Position, position_of
from pipeline.inputs import input_ids, unreadable
from pipeline.transform.check import check_transform
from repo_server.body import read_json
from repo_server.gate import VISIT, Visit, access_of
from repo_server.logs import SERVER
from repo_server.openapi.described import JSON, Body, Parameter, Tag, describes, empty, json
from repo_server.problems import json_response
from repo_server.schedule_states import ScheduleState, plain_schedule
from storage.dataset import Dataset
from verify.trust import said_by

_FIELDS: Final[dict[str, tuple[type, ...]]] = {
    "cron": (str, type(None)),
    "onChange": (bool,),
    "timezone": (str,),
    "jitterS": (int, float),
    "paused": (bool,),
}


class ScheduleWanted(TypedDict, total=False):
    """``cron`` has five fields; ``onChange`` is for derivatives and verifications."""

    cron: str | None
    onChange: bool
    timezone: str
    jitterS: float
    paused: bool


_JOB: Final = Parameter("job", "`verify` for its verification, else it is polled or computed", {"enum": [VERIFY]})
_NOT_HERE: Final = (HTTPStatus.NOT_IMPLEMENTED, HTTPStatus.UNPROCESSABLE_ENTITY)


@describes(Tag.REPOSITORY, json(ScheduleState), parameters=(_JOB,), shown=True)
async def get_schedule(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}/schedule``: why a run failed is for those who may write."""
    found = request[VISIT]
    plain = await _plain(found, await _job_id(request, found))
    if plain["lastError"] is not None and await access_of(found.services, found.dataset, found.caller) < Access.WRITE:
        plain["lastError"] = "the last run failed"
    return json_response(plain)


@describes(
    Tag.REPOSITORY,
    json(ScheduleState),
    refuses=_NOT_HERE,
    parameters=(_JOB,),
    body=Body({JSON: ScheduleWanted}, {"cron": "0 6 * * *", "timezone": "UTC"}),
    shown=True,
)
async def put_schedule(request: web.Request) -> web.StreamResponse:
    """``PUT /{dataset}/schedule``. Of somebody who is no administrator only public places are polled."""
    found = request[VISIT]
    job_id = await _job_id(request, found)
    given = _checked(await read_json(request, found.services.settings))
    said = await said_by(found.dataset.entry.dataset, job_id.kind)  # before it is looked at: it may change meanwhile
    await _check_can_be_done(found, job_id.kind)
    schedule = Schedule(
        given.get("cron"), given.get("timezone", "UTC"), float(given.get("jitterS", 0)), given.get("onChange", False)
    )
    if schedule.on_change and job_id.kind == POLL:
        raise MalformedInput("the source of a root tells of no changes", hint="give it times: cron")
    schedules, account = found.services.catalog.schedules, found.caller.account
    is_admin = account is not None and account.is_admin
    account_id = None if account is None else account.id
    await schedules.set(job_id, schedule, foreign=not is_admin, account_id=account_id, said=said)
    if given.get("paused"):
        await schedules.pause(job_id)
    return json_response(await _plain(found, job_id))


@describes(Tag.REPOSITORY, empty(HTTPStatus.NO_CONTENT), parameters=(_JOB,), shown=True)
async def delete_schedule(request: web.Request) -> web.StreamResponse:
    """``DELETE /{dataset}/schedule``."""
    found = request[VISIT]
    await found.services.catalog.schedules.remove(await _job_id(request, found))
    return web.Response(status=HTTPStatus.NO_CONTENT)


async def _plain(found: Visit, job_id: JobId) -> ScheduleState:
    scheduled = await found.services.catalog.schedules.find(job_id)
    if scheduled is None:
        raise unscheduled(job_id)
    return plain_schedule(scheduled)


async def _check_can_be_done(found: Visit, kind: str) -> None:
    """That there is something to poll or compute, from inputs that the caller may read, by a query that holds."""
    position = await position_of(found.dataset.entry.dataset)
    if kind == POLL and not isinstance(position.state.polling_source, SetPollingSource):
        raise UnsupportedOperation("the dataset has no source to poll")
    transform = position.state.transform
    if isinstance(transform, SetTransform):
        for dataset_id in await input_ids(found.dataset.entry.dataset):
            await _find_input(found, dataset_id)
        if kind == TRANSFORM:
            await _check_query(found, position, transform)
    elif kind == TRANSFORM:
        raise UnsupportedOperation("the dataset has no transform")


async def _check_query(found: Visit, position: Position, transform: SetTransform) -> None:
    """Chains are taken as they come: a query is looked at when it is to be computed here. Without an engine each run
    will say so."""
    services, find = found.services, partial(_find_input, found)
    with services.ingests.room():
        elsewhere = services.settings.engines_elsewhere
        try:
            await check_transform(position, transform, find, services.engine, elsewhere=elsewhere)
        except EngineDied:
            raise
        except EngineUnavailable as error:
            SERVER.warning("a query was not looked at: %s", error)


async def _find_input(found: Visit, dataset_id: DatasetId) -> Dataset:
    hosted = await found.services.directory.find(dataset_id)
    is_there = hosted is not None and not hosted.entry.pending
    if hosted is None or not is_there or await access_of(found.services, hosted, found.caller) < Access.READ:
        raise unreadable(dataset_id)
    return hosted.entry.dataset


def _checked(body: dict[str, object]) -> dict[str, Any]:
    """The body, if it is what it should be."""
    for name, value in body.items():
        kinds = _FIELDS.get(name, ())
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            told = f"field '{name[:100]}' of a schedule is unknown or of another type"
            raise MalformedInput(told, expected=", ".join(_FIELDS))
    return body


async def _job_id(request: web.Request, found: Visit) -> JobId:
    entry, asked = found.dataset.entry, request.query.get("job")
    if asked == VERIFY:
        return JobId(VERIFY, entry.id)
    if asked is not None:
        raise MalformedInput(
            "there is no such job to be scheduled", expected=f"job={VERIFY}, or none", found=asked[:100]
        )
    return JobId(kind_for((await entry.dataset.seed()).dataset_kind), entry.id)
