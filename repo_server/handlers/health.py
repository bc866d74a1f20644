"""For those who watch the server: alive, ready, what it is. Tokens are not looked at here."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final, NotRequired

from aiohttp import web
from typing_extensions import TypedDict

from opendatafabric.errors import NotFound, OdfError
from opendatafabric.names import AccountName
from opendatafabric.spec import SPEC_VERSION
from repo_server.background.worker import WorkerState
from repo_server.config import MetricsAccess, Settings
from repo_server.metrics import CONTENT_TYPE
from repo_server.openapi.described import STRING, TEXT, Answer, Tag, describes, json
from repo_server.problems import json_response
from repo_server.services import SERVICES, Services

_CHECK_S_MAX: Final = 5
"""Whoever watches the server waits no longer."""


class Health(TypedDict):
    """Whether all is well; ``worker`` once there was something for it to do."""

    ok: bool
    reason: NotRequired[str]
    worker: NotRequired[dict[str, Any]]


class SystemInfo(TypedDict):
    """What runs here."""

    name: str
    version: str
    specVersion: str
    isMultiTenant: bool
    anonymousAccess: bool
    objectBytesMax: int


@describes(Tag.REPOSITORY, json(Health), shown=True)
async def get_health(request: web.Request) -> web.StreamResponse:
    """``GET /system/health``: the process answers."""
    return json_response({"ok": True})


@describes(Tag.REPOSITORY, json(Health), json(Health, HTTPStatus.SERVICE_UNAVAILABLE, "what is wrong"), shown=True)
async def get_ready(request: web.Request) -> web.StreamResponse:
    """``GET /system/ready``: repository and database can be used, and the server is not stopping."""
    services = request.app[SERVICES]
    reason = "stopping" if services.stopping else await what_is_wrong(services)
    if reason is None:
        return json_response({"ok": True, **_worker(services)})
    return json_response({"ok": False, "reason": reason}, status=HTTPStatus.SERVICE_UNAVAILABLE)


@describes(Tag.REPOSITORY, json(SystemInfo), shown=True)
async def get_system_info(request: web.Request) -> web.StreamResponse:
    """``GET /system/info``."""
    settings = request.app[SERVICES].settings
    return json_response(
        {
            "name": "odf-repository",
            "version": software_version(),
            "specVersion": SPEC_VERSION,
            "isMultiTenant": settings.multi_tenant,
            "anonymousAccess": settings.anonymous_access,
            "objectBytesMax": settings.object_bytes_max,
        }
    )


def metrics_are_public(settings: Settings) -> bool:
    """Whether the settings show them to everybody."""
    return settings.metrics_access is MetricsAccess.PUBLIC


@describes(Tag.REPOSITORY, Answer({TEXT: STRING}), shown=True)
async def get_metrics(request: web.Request) -> web.StreamResponse:
    """``GET /metrics``."""
    services = request.app[SERVICES]
    left = services.indexing.left
    text = await services.metrics.text(services.catalog, running=services.requests, now=services.now(), unindexed=left)
    return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE})


def _worker(services: Services) -> dict[str, Any]:
    """How the worker is, once there was something for it to do. Datasets are served without it."""
    worker = services.worker
    return {} if worker is None or worker.state is WorkerState.NOT_NEEDED else {"worker": worker.as_dict()}


async def what_is_wrong(services: Services) -> str | None:
    """Which part of the node cannot be used now, if there is one."""
    try:
        await services.catalog.accounts.find(AccountName(services.settings.default_account))
    except NotFound:
        pass
    except OdfError:
        return "the catalog cannot be read"
    try:
        async with asyncio.timeout(_CHECK_S_MAX):
            await services.repository.check()
    except OdfError as error:
        return error.message
    except TimeoutError:
        return f"the repository did not answer within {_CHECK_S_MAX} s"
    return None


def software_version() -> str:
    """The version of this software, if it is installed."""
    try:
        return version("odf-repository")
    except PackageNotFoundError:
        return "unknown"
