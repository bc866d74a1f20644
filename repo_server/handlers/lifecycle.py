"""Datasets that are deleted and brought back, renamed and given away; what is deleted is no dataset of any route."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final, NotRequired

from aiohttp import web
from typing_extensions import TypedDict

from catalog.accounts import Account
from catalog.datasets import DatasetRecord
from catalog.tombstones import Tombstone
from catalog.transfer_offers import TransferOffer
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import AccountId, DatasetId
from opendatafabric.errors import AccessDenied, DatasetNotFound, MalformedInput
from opendatafabric.names import AccountName, DatasetName
from repo_server.body import read_json
from repo_server.dependents import plain_dependents
from repo_server.gate import CALLER, VISIT, Visit
from repo_server.moments import moment, moment_or_none
from repo_server.openapi.described import JSON, Body, Parameter, Tag, describes, empty, json
from repo_server.preconditions import require_match
from repo_server.problems import json_response
from repo_server.services import SERVICES, Services


class DeletedDataset(TypedDict):
    """A dataset that may come back until ``keptUntil``."""

    id: str
    name: str
    deletedAt: str
    keptUntil: str | None
    nameReservedUntil: str


class DeletedDatasets(TypedDict):
    """Those of the caller."""

    deleted: list[DeletedDataset]


class NewName(TypedDict):
    """A name within the account."""

    name: str


class NamedDataset(TypedDict):
    """A dataset and what it is called now."""

    id: str
    name: str


class Receiver(TypedDict):
    """Who is to have a dataset; ``now`` for administrators, without being asked."""

    to: str
    now: NotRequired[bool]


class PlainOffer(TypedDict):
    """A dataset that one account offers to another."""

    id: str
    name: str | None
    owner: str
    to: str
    offeredAt: str


class PlainOffers(TypedDict):
    """Those to and by the caller."""

    transfers: list[PlainOffer]


_MATCH: Final = Parameter("If-Match", "the head that the caller believes in, in quotes", place="header")
_DRY: Final = Parameter("dryRun", "only say what depends on it", {"type": "boolean"}, value="true")
_GOOD: Final = Parameter("forGood", "do not keep it", {"type": "boolean"})
_ABSENT: Final = (HTTPStatus.NOT_FOUND,)
_TAKEN: Final = (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)
_ELSEWHERE: Final = (HTTPStatus.CONFLICT, HTTPStatus.NOT_IMPLEMENTED)
_UNMATCHED: Final = (*_ELSEWHERE, HTTPStatus.PRECONDITION_FAILED)


@describes(
    Tag.REPOSITORY,
    json({"type": "object"}, says="until when it is kept, or what depends on it"),
    refuses=(*_UNMATCHED, HTTPStatus.PRECONDITION_REQUIRED),
    parameters=(_MATCH, _DRY, _GOOD),
    shown={"name": "old-weather"},
)
async def delete_dataset(request: web.Request) -> web.StreamResponse:
    """``DELETE /{dataset}``: out of sight at once; with ``?dryRun=true`` only what depends on it."""
    found = request[VISIT].lying_here()
    if _flag(request, "dryRun"):
        return json_response(await plain_dependents(found))
    services, entry = found.services, found.dataset.entry
    require_match(request, await entry.dataset.head(), needed=True)
    stone = await services.lifecycle.delete(_record(found), by=_account(request).id)
    if _flag(request, "forGood"):
        await services.lifecycle.purge(entry.id)
    await _spread(found)
    return json_response({**_plain_stone(stone), "forGood": _flag(request, "forGood")})


@describes(
    Tag.REPOSITORY,
    json(NamedDataset),
    refuses=_UNMATCHED,
    parameters=(_MATCH,),
    body=Body({JSON: NewName}, {"name": "rainfall"}),
    shown={"name": "rain"},
)
async def rename_dataset(request: web.Request) -> web.StreamResponse:
    """``PATCH /{dataset}`` with ``{"name"}``: the same dataset under another name."""
    found = request[VISIT].lying_here()
    body = await read_json(request, found.services.settings)
    name = DatasetName(_text(body, "name"))
    require_match(request, await found.dataset.entry.dataset.head())
    alias = DatasetAlias(found.dataset.entry.alias.account, name)
    entry = await found.services.lifecycle.rename(_record(found), alias, by=_account(request).id)
    await _spread(found)
    return json_response({"id": str(entry.id), "name": str(entry.alias)})


@describes(
    Tag.REPOSITORY,
    json(PlainOffer, HTTPStatus.ACCEPTED, "offered"),
    json(NamedDataset, says="given at once"),
    refuses=_ELSEWHERE,
    body=Body({JSON: Receiver}, {"to": "bob"}),
    shown={"name": "old-weather"},
)
async def offer_dataset(request: web.Request) -> web.StreamResponse:
    """``POST /{dataset}/transfer`` with ``{"to"}``: offered; by an administrator with ``"now"`` given at once."""
    found, account = request[VISIT].lying_here(), _account(request)
    services = found.services
    body = await read_json(request, services.settings)
    receiver = await services.catalog.accounts.find(AccountName(_text(body, "to", "now")))
    if body.get("now", False) and not account.is_admin:
        raise AccessDenied("who gets a dataset takes it himself", hint="leave out now, or ask an administrator")
    offer = await services.lifecycle.offer(_record(found), receiver, by=account.id)
    if not body.get("now", False):
        return json_response(await _plain_offer(services, offer), status=HTTPStatus.ACCEPTED)
    entry = await services.lifecycle.take(offer.dataset_id, by=account.id)
    await _spread(found)
    return json_response({"id": str(entry.id), "name": str(entry.alias)})


@describes(Tag.REPOSITORY, empty(HTTPStatus.NO_CONTENT), refuses=_ELSEWHERE, shown={"name": "old-weather"})
async def withdraw_offer(request: web.Request) -> web.StreamResponse:
    """``DELETE /{dataset}/transfer``: offered no longer."""
    found = request[VISIT].lying_here()
    await found.services.catalog.transfer_offers.withdraw(found.dataset.entry.id)
    return web.Response(status=HTTPStatus.NO_CONTENT)


@describes(Tag.REPOSITORY, json(PlainOffers), shown=True)
async def get_offers(request: web.Request) -> web.StreamResponse:
    """``GET /system/transfers``: what is offered to the caller, and by it."""
    services = request.app[SERVICES]
    offers = await services.catalog.transfer_offers.list(_account(request).id)
    return json_response({"transfers": [await _plain_offer(services, each) for each in offers]})


@describes(Tag.REPOSITORY, json(NamedDataset), refuses=_TAKEN)
async def take_offer(request: web.Request) -> web.StreamResponse:
    """``POST /system/transfers/{did}``: the dataset is the receiver's."""
    services, offer = request.app[SERVICES], await _offer_to_caller(request)
    entry = await services.lifecycle.take(offer.dataset_id, by=_account(request).id)
    services.directory.forget(entry.alias)
    return json_response({"id": str(entry.id), "name": str(entry.alias)})


@describes(Tag.REPOSITORY, empty(HTTPStatus.NO_CONTENT), refuses=_ABSENT)
async def decline_offer(request: web.Request) -> web.StreamResponse:
    """``DELETE /system/transfers/{did}``: the caller does not want it."""
    offer = await _offer_to_caller(request)
    await request.app[SERVICES].catalog.transfer_offers.withdraw(offer.dataset_id)
    return web.Response(status=HTTPStatus.NO_CONTENT)


@describes(Tag.REPOSITORY, json(DeletedDatasets), shown=True)
async def get_deleted(request: web.Request) -> web.StreamResponse:
    """``GET /system/deleted``: the caller's datasets that may come back; for administrators all."""
    services, account = request.app[SERVICES], _account(request)
    kept = await services.catalog.tombstones.kept()
    return json_response({"deleted": [_plain_stone(each) for each in kept if _is_his(each, account)]})


@describes(Tag.REPOSITORY, json(NamedDataset), refuses=_TAKEN, body=Body({JSON: NewName}, required=False))
async def undelete_dataset(request: web.Request) -> web.StreamResponse:
    """``POST /system/deleted/{did}``: it is back, under the name it had or with ``{"name"}`` another."""
    services, stone = request.app[SERVICES], await _deleted_of_caller(request)
    body = await read_json(request, services.settings) if request.can_read_body else {}
    alias = DatasetAlias(stone.alias.account, DatasetName(_text(body, "name"))) if body else None
    entry = await services.lifecycle.undelete(stone.dataset_id, alias)
    services.directory.forget(entry.alias)
    if services.publisher is not None:
        services.publisher.wake(entry.id)
    return json_response({"id": str(entry.id), "name": str(entry.alias)})


@describes(Tag.REPOSITORY, empty(HTTPStatus.NO_CONTENT), refuses=_ABSENT)
async def purge_dataset(request: web.Request) -> web.StreamResponse:
    """``DELETE /system/deleted/{did}``: it cannot come back."""
    stone = await _deleted_of_caller(request)
    await request.app[SERVICES].lifecycle.purge(stone.dataset_id)
    return web.Response(status=HTTPStatus.NO_CONTENT)


def _record(found: Visit) -> DatasetRecord:
    """With the name that the repository has: a server without accounts shows another."""
    return replace(found.dataset.record, alias=found.dataset.entry.alias)


def _account(request: web.Request) -> Account:
    account = request[CALLER].account
    assert account is not None  # the gate lets nobody else through
    return account


async def _spread(found: Visit) -> None:
    """What this process knows of the name is out of date."""
    found.services.directory.forget(found.alias)
    if found.services.publisher is not None:
        found.services.publisher.wake(found.dataset.entry.id)


async def _offer_to_caller(request: web.Request) -> TransferOffer:
    services, account, dataset_id = request.app[SERVICES], _account(request), _dataset_id(request)
    offer = await services.catalog.transfer_offers.find(dataset_id)
    if offer is None or not (account.is_admin or account.id == offer.to_id):
        raise DatasetNotFound("that dataset is not offered to you")
    return offer


async def _deleted_of_caller(request: web.Request) -> Tombstone:
    stone = await request.app[SERVICES].catalog.tombstones.of_deleted(_dataset_id(request))
    if stone is None or not _is_his(stone, _account(request)):
        raise DatasetNotFound("no such deleted dataset of yours is kept")
    return stone


def _is_his(stone: Tombstone, account: Account) -> bool:
    return account.is_admin or account.id == stone.owner_id


def _dataset_id(request: web.Request) -> DatasetId:
    return DatasetId.from_text(request.match_info["did"])


def _flag(request: web.Request, name: str) -> bool:
    return request.query.get(name, "false") == "true"


def _text(body: dict[str, object], name: str, *others: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or set(body) - {name, *others}:
        raise MalformedInput(f"the body has one field, {name}", expected=f'{{"{name}": "…"}}')
    return value


def _plain_stone(stone: Tombstone) -> dict[str, Any]:
    return {
        "id": str(stone.dataset_id),
        "name": str(stone.alias),
        "deletedAt": moment(stone.at),
        "keptUntil": moment_or_none(stone.kept_until),
        "nameReservedUntil": moment(stone.reserved_until),
    }


async def _plain_offer(services: Services, offer: TransferOffer) -> dict[str, Any]:
    record = await services.catalog.datasets.find(offer.dataset_id)
    return {
        "id": str(offer.dataset_id),
        "name": None if record is None else str(record.alias),
        "owner": await _name_of(services, offer.from_id),
        "to": await _name_of(services, offer.to_id),
        "offeredAt": moment(offer.at),
    }


async def _name_of(services: Services, account_id: AccountId) -> str:
    return str((await services.catalog.accounts.find_by_id(account_id)).name)
