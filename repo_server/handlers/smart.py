"""The smart transfer protocol: the handshakes of ``pull`` and ``push`` and what they lead to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Final

from aiohttp import web

from catalog.accounts import Account
from catalog.datasets import DatasetRecord
from catalog.jobs import PROMOTE, VERIFY, JobId
from catalog.quotas import Wish
from catalog.run_times import Schedule
from catalog.visibility import Visibility
from opendatafabric.chain.objects import ObjectFile
from opendatafabric.did import DatasetId
from opendatafabric.errors import AccessDenied, DatasetNotFound, NameCollision, RefCollision
from opendatafabric.multihash import Multihash
from repo_server import auditing
from repo_server.conversations import conversation
from repo_server.gate import VISIT, Refused, Visit, account_of_place, admitted_again, may_make
from repo_server.head_moves import note_deed, note_move
from repo_server.measuring import measured
from repo_server.metering import Room
from repo_server.object_urls import OwnUrls
from repo_server.openapi.described import Tag, describes, empty
from repo_server.problems import message, plain
from storage.dataset import Dataset, object_key
from storage.repository import DatasetEntry
from storage.wrappers.staged import StagingRefs
from sync.smart.channels import VERSION, VERSION_HEADER
from sync.smart.messages import Visibility as WireVisibility
from sync.smart.serve import serve_pull, serve_push
from sync.smart.signed_urls import SignedUrls

_HANDSHAKE: Final = (
    ("Connection", "upgrade"),
    ("Upgrade", "websocket"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", ""),
)
_VERSION: Final = re.compile(r"\d{1,9}", re.ASCII)


@describes(Tag.TRANSFER, empty(HTTPStatus.SWITCHING_PROTOCOLS, "a WebSocket, described in `/asyncapi.json`"))
async def pull(request: web.Request) -> web.StreamResponse:
    """``GET pull``, a WebSocket."""
    found = request[VISIT]
    check_handshake(request)
    _check_version(request)
    services, silence_s = found.services, found.services.settings.pull_silence_s
    async with conversation(request, services, services.pulls, silence_s=silence_s) as channel:
        dataset, urls = found.dataset.entry.dataset, _urls(request, found)
        await serve_pull(channel, dataset, urls, packs=services.packs, signed=_signed(found))
    return channel.response


@describes(Tag.TRANSFER, empty(HTTPStatus.SWITCHING_PROTOCOLS, "a WebSocket, described in `/asyncapi.json`"))
async def push(request: web.Request) -> web.StreamResponse:
    """``GET push``, a WebSocket; a dataset that is not there is made when the push is complete."""
    found = request[VISIT]
    check_handshake(request)
    if found.hosted is None and found.caller.account is None:
        raise Refused(message("Unauthenticated", HTTPStatus.UNAUTHORIZED))
    _check_version(request)
    await _check_may_make(found)
    services, silence_s = found.services, found.services.settings.push_silence_s
    async with conversation(request, services, services.pushes, silence_s=silence_s) as channel:
        auditing.tell(request, outcome="broken off")
        target, urls, still_allowed = _Target(request, found), _urls(request, found), partial(_allow_still, request)
        async with target.held:
            done = await serve_push(
                channel,
                target,
                urls,
                signed=_signed(found),
                still_allowed=still_allowed,
                make_room=target.make_room,
                on_head_moved=target.note,
            )
        if done.error is not None:
            auditing.tell(request, outcome="refused", code=done.error.code)
    return channel.response


def check_handshake(request: web.Request) -> None:
    """Refuse what is no WebSocket handshake with a version in it."""
    for name, expected in _HANDSHAKE:
        given = request.headers.get(name, "").lower()
        if not given or (expected and expected not in {part.strip() for part in given.split(",")}):
            wanted = f" with {expected!r}" if expected else ""
            raise Refused(plain(f"this is a WebSocket: header `{name}`{wanted} is missing", HTTPStatus.BAD_REQUEST))
    version = request.headers.get(VERSION_HEADER, "").strip()
    if _VERSION.fullmatch(version) is None:
        raise Refused(plain(f"header `{VERSION_HEADER}` is missing or no number", HTTPStatus.BAD_REQUEST))


def _check_version(request: web.Request) -> None:
    if int(request.headers[VERSION_HEADER]) != int(VERSION):
        raise Refused(message("Incompatible client version", HTTPStatus.BAD_REQUEST))


async def _check_may_make(found: Visit) -> None:
    if found.hosted is None and not await may_make(found):
        raise Refused(message("Unauthorized", HTTPStatus.FORBIDDEN))


async def _allow_still(request: web.Request) -> None:
    try:
        await _check_may_make(await admitted_again(request))
    except Refused:
        raise AccessDenied("the caller may push here no longer", hint="the token or the role has ended") from None


def _urls(request: web.Request, found: Visit) -> OwnUrls:
    path = request.match_info["name"]
    if "account" in request.match_info:
        path = f"{request.match_info['account']}/{path}"
    return OwnUrls(f"{found.services.base_url}/{path}", found.caller.token if found.caller.authenticated else None)


def _signed(found: Visit) -> SignedUrls | None:
    services = found.services
    if not services.settings.signed_urls:
        return None
    return SignedUrls(lifetime_s=services.settings.signed_url_s, now=services.now)


@dataclass(slots=True)
class _Target:
    """Where a push goes: the dataset of the path, or the place for it."""

    request: web.Request
    found: Visit
    dataset_id: DatasetId | None = None
    held: AsyncExitStack = field(default_factory=AsyncExitStack)
    room: Room | None = None
    gated: bool = False
    """Whether what is pushed has to be verified before it becomes the head."""

    async def find(self) -> Dataset | None:
        hosted = self.found.hosted
        if hosted is None:
            return None
        self.dataset_id, dataset = hosted.entry.id, hosted.entry.dataset
        self.gated = await self.found.services.catalog.gates.find(self.dataset_id) is not None
        return dataset.over(dataset.objects, StagingRefs(dataset.refs)) if self.gated else dataset

    async def create(self, dataset_id: DatasetId, visibility: WireVisibility) -> Dataset:
        owner = await self._owner()
        known = await self.found.services.catalog.datasets.find(dataset_id)
        try:
            entry = await self.found.services.repository.find(dataset_id, include_pending=True)
        except DatasetNotFound:
            entry = None
        if entry is not None and entry.pending and known is not None and known.owner_id != owner.id:
            raise RefCollision(f"dataset {dataset_id} is being pushed by somebody else", found=dataset_id)
        if entry is None:
            await self.found.services.meter.check_new_dataset(owner.id)
        made = await self._made(dataset_id, owner)
        record = DatasetRecord(dataset_id, made.alias, owner.id, Visibility(visibility.lower()))
        await self.found.services.catalog.datasets.forget(dataset_id)
        await self.found.services.catalog.datasets.put(record)
        self.dataset_id = dataset_id
        return measured(made, self.found.services.metrics.stores).dataset

    async def _made(self, dataset_id: DatasetId, owner: Account) -> DatasetEntry:
        """The name is looked at once it is ours: a former owner's right to it is written down before it gets free."""
        services = self.found.services
        made = await services.repository.create(self.found.alias, dataset_id)
        try:
            await services.lifecycle.require_free(made.alias, owner.id)
        except NameCollision:
            await services.repository.delete(dataset_id)
            raise
        return made

    async def make_room(self, missing: Sequence[ObjectFile], block_bytes: int) -> None:
        """Keep room for what is to come, as long as the conversation goes on."""
        assert self.dataset_id is not None
        hosted = self.found.hosted
        owner_id = (await self._owner()).id if hosted is None else hosted.record.owner_id
        wish = Wish(self.dataset_id, owner_id, {object_key(file): file.size for file in missing}, block_bytes)
        self.room = await self.held.enter_async_context(self.found.services.meter.room(wish))

    async def note(self, expected_head: Multihash | None, new_head: Multihash) -> None:
        """A head moved: look at the dataset anew, and write it down. Behind a gate: have it verified."""
        assert self.dataset_id is not None
        if self.room is not None:
            await self.room.settle()
        if self.gated:
            await self.found.services.catalog.jobs.ask_again(JobId(PROMOTE, self.dataset_id))
            await note_deed(self.request, self.dataset_id, expected_head, new_head, staged=True)
            return
        await note_move(self.found, self.dataset_id, expected_head=expected_head, new_head=new_head)
        await note_deed(self.request, self.dataset_id, expected_head, new_head)
        if expected_head is None and self.found.services.settings.verify_pushed:
            await self._have_verified(self.dataset_id)

    async def _have_verified(self, dataset_id: DatasetId) -> None:
        """Now, and whenever it or what it is derived from has a new head, with the rights of whoever pushes."""
        schedules, job_id, caller = self.found.services.catalog.schedules, JobId(VERIFY, dataset_id), self._caller()
        if await schedules.find(job_id) is None:
            on_change = Schedule(None, on_change=True)
            await schedules.set(job_id, on_change, foreign=not caller.is_admin, account_id=caller.id)

    async def _owner(self) -> Account:
        return await account_of_place(self.found) or self._caller()

    def _caller(self) -> Account:
        account = self.found.caller.account
        assert account is not None
        return account
