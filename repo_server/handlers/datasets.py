"""What this node is, and datasets by id."""

from __future__ import annotations

from http import HTTPStatus

from aiohttp import web
from typing_extensions import TypedDict

from catalog.permissions import Access
from opendatafabric.did import DatasetId
from opendatafabric.errors import MalformedIdentifier
from repo_server.gate import CALLER, access_of
from repo_server.openapi.described import Tag, describes, json
from repo_server.problems import json_response, message, worded
from repo_server.services import SERVICES


class NodeInfo(TypedDict):
    """Whether datasets lie under accounts."""

    isMultiTenant: bool


class Owner(TypedDict):
    """The account that a dataset lies under."""

    accountName: str
    accountId: str


class DatasetInfo(TypedDict):
    """Under which name a dataset lies."""

    id: str
    owner: Owner
    datasetName: str


@describes(Tag.CORE, json(NodeInfo), shown=True)
async def get_info(request: web.Request) -> web.StreamResponse:
    """``GET /info``."""
    return json_response({"isMultiTenant": request.app[SERVICES].settings.multi_tenant})


@describes(Tag.CORE, json(DatasetInfo), refuses=(HTTPStatus.NOT_FOUND,), shown=True)
async def get_dataset(request: web.Request) -> web.StreamResponse:
    """``GET /datasets/{did}``: under which name the dataset lies, if the caller may know."""
    services, caller = request.app[SERVICES], request[CALLER]
    try:
        dataset_id = DatasetId.from_text(request.match_info["did"])
    except MalformedIdentifier as error:
        return worded(error, HTTPStatus.BAD_REQUEST)
    hosted = await services.directory.find(dataset_id)
    if hosted is None or hosted.entry.pending or await access_of(services, hosted, caller) is Access.NONE:
        if hosted is not None:
            await services.directory.look_for_nothing(dataset_id)
        return message("Not Found", HTTPStatus.NOT_FOUND)
    owner = await services.catalog.accounts.find_by_id(hosted.record.owner_id)
    return json_response(
        {
            "id": str(dataset_id),
            "owner": {"accountName": owner.name[:], "accountId": str(owner.id)},
            "datasetName": hosted.entry.alias.name[:],
        }
    )
