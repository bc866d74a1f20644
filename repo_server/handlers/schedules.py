"""When a dataset is polled: read by those who may read it, set by those who may write."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

from aiohttp import web

from catalog.jobs import POLL, JobId
from catalog.permissions import Access
from catalog.run_times import Schedule
from catalog.schedules import unscheduled
from opendatafabric.errors import MalformedInput, UnsupportedOperation
from opendatafabric.metadata.events import SetPollingSource
from repo_server.body import read_json
from repo_server.gate import Visit, access_of, visit
from repo_server.problems import json_response
from repo_server.schedule_states import plain_schedule

_FIELDS: Final[dict[str, tuple[type, ...]]] = {
    "cron": (str,),
    "timezone": (str,),
    "jitterS": (int, float),
    "paused": (bool,),
}


async def get_schedule(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}/schedule``: why a run failed is for those who may write."""
    found = await visit(request, Access.READ)
    plain = await _plain(found)
    if plain["lastError"] is not None and await access_of(found.services, found.dataset, found.caller) < Access.WRITE:
        plain["lastError"] = "the last run failed"
    return json_response(plain)


async def put_schedule(request: web.Request) -> web.StreamResponse:
    """``PUT /{dataset}/schedule``. Of somebody who is no administrator only public places are polled."""
    found = await visit(request, Access.WRITE)
    given = _checked(await read_json(request, found.services.settings))
    await _check_polls(found)
    schedule = Schedule(given["cron"], given.get("timezone", "UTC"), float(given.get("jitterS", 0)))
    schedules, job_id = found.services.catalog.schedules, _job_id(found)
    await schedules.set(job_id, schedule, foreign=not _is_admin(found))
    if given.get("paused"):
        await schedules.pause(job_id)
    return json_response(await _plain(found))


async def delete_schedule(request: web.Request) -> web.StreamResponse:
    """``DELETE /{dataset}/schedule``."""
    found = await visit(request, Access.WRITE)
    await found.services.catalog.schedules.remove(_job_id(found))
    return web.Response(status=HTTPStatus.NO_CONTENT)


async def _plain(found: Visit) -> dict[str, Any]:
    scheduled = await found.services.catalog.schedules.find(_job_id(found))
    if scheduled is None:
        raise unscheduled(_job_id(found))
    return plain_schedule(scheduled)


async def _check_polls(found: Visit) -> None:
    dataset = found.dataset.entry.dataset
    head = await dataset.head()
    state = None if head is None else await dataset.chain_state(head)
    if state is None or not isinstance(state.polling_source, SetPollingSource):
        raise UnsupportedOperation("the dataset has no source to poll")


def _checked(body: dict[str, object]) -> dict[str, Any]:
    """The body, if it is what it should be."""
    for name, value in body.items():
        kinds = _FIELDS.get(name, ())
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            told = f"field '{name[:100]}' of a schedule is unknown or of another type"
            raise MalformedInput(told, expected=", ".join(_FIELDS))
    if "cron" not in body:
        raise MalformedInput("a schedule needs the field 'cron'", expected="minute hour day month weekday")
    return body


def _job_id(found: Visit) -> JobId:
    return JobId(POLL, found.dataset.entry.id)


def _is_admin(found: Visit) -> bool:
    account = found.caller.account
    return account is not None and account.is_admin
