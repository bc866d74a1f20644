"""Leases of a dataset in a bucket: small objects below ``.leases/``, seen by every process that can list it.

No lock dies with a process here, so each note is kept alive by a sign of life beside it, written anew every minute. A
note without one for ``LEASE_SILENCE_S_MAX`` has lost its holder, by the times that the store itself gave to notes and
signs; no other clock is compared with them. The holder counts the seconds since its own last sign and stops trusting
its notes at half of that: whatever it began before has ended when others take it for dead. See docs/adr/0006.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import obstore

from opendatafabric.errors import LimitExceeded, ObjectNotFound, OdfError, TransientStorageError
from opendatafabric.limits import LEASE_BYTES_MAX, LEASE_RENEW_S, LEASE_SILENCE_S_MAX
from storage.s3.at_once import at_once
from storage.s3.client import bucket_at
from storage.s3.errors import translated
from storage.s3.location import S3Location
from storage.s3.retries import retried
from storage.values import Lease, LeaseKind

LEASES_FOLDER: Final = ".leases"
_SIGN: Final = ".alive"
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Counts on while the machine sleeps, where there is such a clock."""

_NAME: Final = re.compile(rf"(?:{'|'.join(kind.value for kind in LeaseKind)})-[0-9a-f]{{32}}(?:{re.escape(_SIGN)})?")

Meta = Mapping[str, Any]


@dataclass(slots=True)
class _Held:
    signed_at: float
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    signing: asyncio.Task[None] | None = None


class S3LeaseStore:
    """A LeaseStore of the dataset at ``location``."""

    def __init__(self, location: S3Location) -> None:
        self._location = location
        self._bucket = bucket_at(location.bucket, location.endpoint)
        self._held: dict[str, _Held] = {}
        self._contents: dict[str, bytes] = {}

    async def place(self, kind: LeaseKind, contents: bytes) -> Lease:
        token = f"{kind.value}-{secrets.token_hex(16)}"
        began = seconds()
        try:
            await self._put(token, contents)
            with translated("place a note"):
                meta = await obstore.head_async(await self._bucket.store(), self._path(token))
        except BaseException:
            await asyncio.shield(self._remove(token))
            raise
        self._contents[token] = contents
        held = self._held[token] = _Held(began)
        held.signing = asyncio.create_task(self._keep_signing(token, held))
        return Lease(token, kind, contents, _time(meta))

    async def withdraw(self, lease: Lease) -> None:
        held = self._held.pop(lease.token, None)
        if held is not None and held.signing is not None:
            held.ended.set()
            await asyncio.wait({held.signing})  # a sign that is on its way would come after its removal
        await self._remove(lease.token)

    async def standing(self) -> list[Lease]:
        metas = await self._list()
        dead = _silent(metas) - self._held.keys()
        await at_once(self._remove, dead)
        self._contents = {token: data for token, data in self._contents.items() if token in metas}
        notes = [name for name in metas if not name.endswith(_SIGN) and name not in dead]
        found = await at_once(lambda token: self._read(token, metas[token]), notes)
        return [lease for lease in found if lease is not None]

    async def confirm(self) -> None:
        now = seconds()
        if any(now - held.signed_at > LEASE_SILENCE_S_MAX / 2 for held in self._held.values()):
            raise TransientStorageError(
                "this process stood still, or the store did not answer, so long that others may take it for dead",
                hint="begin again; what was stored is found again",
            )

    # --- one note

    async def _read(self, token: str, meta: Meta) -> Lease | None:
        try:
            contents = await self._contents_of(token, meta["size"])
        except ObjectNotFound:
            return None  # withdrawn meanwhile
        return Lease(token, LeaseKind(token.partition("-")[0]), contents, _time(meta))

    async def _contents_of(self, token: str, size: int) -> bytes:
        if size > LEASE_BYTES_MAX:
            raise LimitExceeded(f"{LEASES_FOLDER}/{token} is too long", expected=LEASE_BYTES_MAX, found=size)
        if size and token not in self._contents:
            store = await self._bucket.store()
            with translated(f"read {LEASES_FOLDER}/{token}"):
                result = await obstore.get_async(store, self._path(token))
                self._contents[token] = bytes(await result.bytes_async())
        return self._contents.get(token, b"")

    async def _keep_signing(self, token: str, held: _Held) -> None:
        while not await _ended_within(held.ended, LEASE_RENEW_S):
            began = seconds()
            with suppress(OdfError):  # it is tried again; ``confirm`` says when that took too long
                await self._put(f"{token}{_SIGN}", b"")
                held.signed_at = began

    async def _put(self, name: str, data: bytes) -> None:
        store = await self._bucket.store()

        async def write() -> None:
            with translated(f"write {LEASES_FOLDER}/{name}"):
                await obstore.put_async(store, self._path(name), data, use_multipart=False)

        await retried(write)

    async def _remove(self, token: str) -> None:
        store = await self._bucket.store()
        for name in (token, f"{token}{_SIGN}"):
            with suppress(OdfError), translated("withdraw a note"):
                await obstore.delete_async(store, self._path(name))

    async def _list(self) -> dict[str, Meta]:
        """Notes and signs by name."""
        store = await self._bucket.store()

        async def ask() -> list[Meta]:
            with translated(f"list {LEASES_FOLDER}/"):
                return list((await obstore.list_with_delimiter_async(store, self._path("").rstrip("/")))["objects"])

        named = ((meta["path"].rpartition("/")[2], meta) for meta in await retried(ask))
        return {name: meta for name, meta in named if _NAME.fullmatch(name)}

    def _path(self, name: str) -> str:
        return self._location.path(f"{LEASES_FOLDER}/{name}")


async def _ended_within(ended: asyncio.Event, wait_s: float) -> bool:
    with suppress(TimeoutError):
        await asyncio.wait_for(ended.wait(), wait_s)
    return ended.is_set()


def _silent(metas: Mapping[str, Meta]) -> set[str]:
    """The tokens of notes whose last sign of life is too long ago, as seen from the newest thing in the folder."""
    last: dict[str, float] = {}
    for name, meta in metas.items():
        token, at = name.removesuffix(_SIGN), _time(meta)
        last[token] = max(last.get(token, at), at)
    now = max(last.values(), default=0.0)
    return {token for token, at in last.items() if now - at > LEASE_SILENCE_S_MAX}


def _time(meta: Meta) -> float:
    # Some stores list parts of a second that they do not tell of a single object.
    return float(int(meta["last_modified"].timestamp()))


def seconds() -> float:
    """By a clock that nobody sets."""
    return time.clock_gettime(_CLOCK)
