"""Leases of a dataset in a bucket: small objects below ``.leases/``, seen by every process that can list it.

No lock dies with a process here, so each note is kept alive by a sign of life beside it (``storage/signs_of_life.py``).
A note without one for ``LEASE_SILENCE_S_MAX`` has lost its holder, by the times that the store itself gave to notes and
signs; no other clock is compared with them. See docs/adr/0006.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import obstore

from opendatafabric.errors import LimitExceeded, ObjectNotFound, OdfError
from opendatafabric.limits import LEASE_BYTES_MAX, LEASE_SILENCE_S_MAX
from storage.s3.at_once import at_once
from storage.s3.client import bucket_at
from storage.s3.errors import translated
from storage.s3.location import S3Location
from storage.s3.retries import retried
from storage.signs_of_life import SignsOfLife, seconds
from storage.values import Lease, LeaseKind

LEASES_FOLDER: Final = ".leases"
_SIGN: Final = ".alive"
_NAME: Final = re.compile(rf"(?:{'|'.join(kind.value for kind in LeaseKind)})-[0-9a-f]{{32}}(?:{re.escape(_SIGN)})?")

Meta = Mapping[str, Any]


class S3LeaseStore:
    """A LeaseStore of the dataset at ``location``."""

    def __init__(self, location: S3Location) -> None:
        self._location = location
        self._bucket = bucket_at(location.bucket, location.endpoint)
        self._signs = SignsOfLife(lambda token: self._put(f"{token}{_SIGN}", b""))
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
        self._signs.begin(token, began=began)
        return Lease(token, kind, contents, _time(meta))

    async def withdraw(self, lease: Lease) -> None:
        await self._signs.end(lease.token)
        await self._remove(lease.token)

    async def standing(self) -> list[Lease]:
        metas = await self._list()
        dead = _silent(metas) - self._signs.tokens
        await at_once(self._remove, dead)
        self._contents = {token: data for token, data in self._contents.items() if token in metas}
        notes = [name for name in metas if not name.endswith(_SIGN) and name not in dead]
        found = await at_once(lambda token: self._read(token, metas[token]), notes)
        return [lease for lease in found if lease is not None]

    async def confirm(self) -> None:
        self._signs.confirm()

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
