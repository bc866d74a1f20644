"""Resumable uploads into a local store: begin, append at an offset, finish; they survive a restart of the server.

An upload becomes an object, or stays a file until somebody has read it and cancels it.

The partial file lies hidden among the objects, so that finishing is a rename, and a small JSON file beside it says what
is to become of it. How far an upload came is the size of the partial file, flushed before every answer. It lives as
long as its lease, which each append renews; ``sweep`` removes the others. The time is always given by the caller.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from opendatafabric.errors import Conflict, LimitExceeded, NotFound, OdfError, SizeMismatch
from opendatafabric.limits import READ_CHUNK_BYTES, UPLOAD_STATE_BYTES_MAX
from opendatafabric.multihash import Hasher, Multihash
from storage.hashing_stream import gathered
from storage.keys import split_key
from storage.local import durable
from storage.local.objects import QUARANTINE_FOLDER, LocalObjectStore
from storage.quarantine import publish_if_proved
from storage.values import Quarantined

_STATE_SUFFIX: Final = ".json"
_ID_CHARS: Final = 16


@dataclass(frozen=True, slots=True)
class Upload:
    """An upload on its way: ``offset`` of ``size`` bytes are safe; ``expires_at`` in seconds as the caller counts.

    ``key`` is that of the object, or what the caller calls a file.
    """

    id: str
    key: str
    size: int
    expires_at: float
    offset: int = 0


class Uploads:
    """The resumable uploads into ``store``; ``lease_s`` seconds after the last append one may be swept."""

    def __init__(self, store: LocalObjectStore, *, lease_s: float) -> None:
        self._store = store
        self._lease_s = lease_s

    async def begin(self, key: str, *, size: int, size_max: int, now: float) -> Upload:
        """A new upload of ``size`` bytes that are to become ``key``.

        Raises:
            LimitExceeded: more than ``size_max``.
            MalformedIdentifier: no key of an object.
        """
        split_key(key)
        return await self.begin_file(key, size=size, size_max=size_max, now=now)

    async def begin_file(self, key: str, *, size: int, size_max: int, now: float) -> Upload:
        """The same for a file that is to be no object; where it lies is told by ``file_of``."""
        if not 0 <= size <= size_max:
            raise LimitExceeded(f"{key} is too large", expected=f"at most {size_max} bytes", found=size)
        upload = Upload(secrets.token_hex(_ID_CHARS // 2), key, size, now + self._lease_s)
        await asyncio.to_thread(self._begin, upload)
        return upload

    async def find(self, upload_id: str, *, now: float) -> Upload:
        """How far an upload came.

        Raises:
            NotFound: no such upload, or its lease is over.
        """
        return await asyncio.to_thread(self._find, upload_id, now)

    async def append(self, upload_id: str, pieces: AsyncIterator[bytes], *, offset: int, now: float) -> Upload:
        """Take in bytes from ``offset`` on. When ``pieces`` fails, what came before stays and counts.

        Raises:
            NotFound: no such upload.
            Conflict: ``offset`` is not where the upload stands, or somebody else is appending.
            SizeMismatch: more bytes than were announced; those are not taken.
        """
        upload = await self.find(upload_id, now=now)
        if upload.offset != offset:
            raise Conflict("the upload stands elsewhere", expected=upload.offset, found=offset, hint="continue there")
        partial = await asyncio.to_thread(_Partial, self._store, upload)
        try:
            async for piece in gathered(pieces, size_max=READ_CHUNK_BYTES + upload.size - offset):
                await asyncio.to_thread(partial.write, piece)
        finally:
            await asyncio.shield(asyncio.to_thread(partial.close))
        return await asyncio.to_thread(self._renew, upload, now)

    async def finish(self, upload_id: str, *, expected_hash: Multihash, now: float) -> Upload:
        """Hash the whole upload and publish it.

        Raises:
            NotFound: no such upload.
            SizeMismatch: it is not complete; it can be continued.
            HashMismatch: other bytes than promised; the upload is gone.
        """
        upload = await self.find(upload_id, now=now)
        if upload.offset != upload.size:
            raise SizeMismatch("the upload is not complete", expected=upload.size, found=upload.offset)
        physical_hash = await asyncio.to_thread(self._hash, upload)
        quarantined = Quarantined(_file_name(upload.id), physical_hash, upload.size)
        await publish_if_proved(self._store, quarantined, upload.key, expected_hash=expected_hash)
        await asyncio.to_thread(self._forget, upload.id)
        return upload

    def file_of(self, upload: Upload) -> Path:
        """The bytes that are safe."""
        return self._store.root / QUARANTINE_FOLDER / _file_name(upload.id)

    async def cancel(self, upload_id: str) -> None:
        """Forget an upload; an unknown one is no error."""
        await asyncio.to_thread(self._forget, _checked_id(upload_id))

    async def all(self, *, now: float) -> list[Upload]:
        """Every upload whose lease is not over."""
        return await asyncio.to_thread(self._all, now)

    async def sweep(self, *, now: float) -> list[str]:
        """Forget every upload whose lease is over; their ids."""
        return await asyncio.to_thread(self._sweep, now)

    # --- in a thread

    def _begin(self, upload: Upload) -> None:
        with self._folder("begin an upload", create=True) as folder:
            with durable.opened(_file_name(upload.id), durable.CREATE_FLAGS, folder):
                pass
            self._write_state(folder, upload)

    def _find(self, upload_id: str, now: float) -> Upload:
        name = _file_name(_checked_id(upload_id))
        with self._folder("find an upload", create=True) as folder:
            try:
                state = durable.read_file(folder, name + _STATE_SUFFIX, size_max=UPLOAD_STATE_BYTES_MAX)
                upload = Upload(**json.loads(state), offset=durable.plain_status(folder, name).st_size)
            except (FileNotFoundError, LimitExceeded, ValueError, TypeError):
                raise _unknown(upload_id) from None
        if upload.expires_at < now:
            raise _unknown(upload_id)
        return upload

    def _renew(self, upload: Upload, now: float) -> Upload:
        renewed = replace(self._find(upload.id, now), expires_at=now + self._lease_s)
        with self._folder("renew an upload") as folder:
            self._write_state(folder, renewed)
        return renewed

    def _write_state(self, folder: int, upload: Upload) -> None:
        state = asdict(upload)
        del state["offset"]
        durable.replace_file(folder, _file_name(upload.id) + _STATE_SUFFIX, json.dumps(state).encode())

    def _hash(self, upload: Upload) -> Multihash:
        hasher = Hasher()
        name = _file_name(upload.id)
        with self._folder("hash an upload") as folder, durable.opened(name, durable.READ_FLAGS, folder) as descriptor:
            while piece := os.read(descriptor, READ_CHUNK_BYTES):
                hasher.update(piece)
            os.fsync(descriptor)
        return hasher.finish()

    def _forget(self, upload_id: str) -> None:
        with self._folder("forget an upload", create=True) as folder:
            durable.remove_quietly(folder, _file_name(upload_id))
            durable.remove_quietly(folder, _file_name(upload_id) + _STATE_SUFFIX)

    def _sweep(self, now: float) -> list[str]:
        over = [upload_id for upload_id in self._ids() if self._alive(upload_id, now) is None]
        for upload_id in over:
            self._forget(upload_id)
        return over

    def _all(self, now: float) -> list[Upload]:
        found = (self._alive(upload_id, now) for upload_id in self._ids())
        return [upload for upload in found if upload is not None]

    def _ids(self) -> list[str]:
        with self._folder("look for uploads", create=True) as folder:
            names = [name for name in os.listdir(folder) if name.endswith(_STATE_SUFFIX)]
        ids = [name.removeprefix(durable.PENDING_PREFIX).removesuffix(_STATE_SUFFIX) for name in names]
        return [upload_id for upload_id in ids if durable.is_pending_name(_file_name(upload_id))]

    def _alive(self, upload_id: str, now: float) -> Upload | None:
        try:
            return self._find(upload_id, now)
        except NotFound:
            return None

    @contextmanager
    def _folder(self, what: str, *, create: bool = False) -> Iterator[int]:
        with (
            durable.translated(what),
            durable.opened_folder(self._store.root, QUARANTINE_FOLDER, create=create) as folder,
        ):
            yield folder


class _Partial:
    """The partial file, held against every other writer while bytes are appended."""

    def __init__(self, store: LocalObjectStore, upload: Upload) -> None:
        self._upload = upload
        self._room = upload.size - upload.offset
        with durable.translated("continue an upload"), durable.opened_folder(store.root, QUARANTINE_FOLDER) as folder:
            self._descriptor = os.open(_file_name(upload.id), durable.APPEND_FLAGS, dir_fd=folder)
            if not durable.try_lock(self._descriptor) or os.fstat(self._descriptor).st_size != upload.offset:
                os.close(self._descriptor)
                raise Conflict(
                    "somebody else is appending to this upload", hint="ask for its offset, then continue there"
                )

    def write(self, piece: bytes) -> None:
        if len(piece) > self._room:
            raise SizeMismatch("more bytes than the upload announced", expected=f"{self._upload.size} bytes in all")
        with durable.translated("append to an upload"):
            durable.write_all(self._descriptor, piece)
        self._room -= len(piece)

    def close(self) -> None:
        with durable.translated("flush an upload"):
            try:
                os.fdatasync(self._descriptor)
            finally:
                os.close(self._descriptor)


def _file_name(upload_id: str) -> str:
    return durable.PENDING_PREFIX + upload_id


def _checked_id(upload_id: str) -> str:
    if not durable.is_pending_name(_file_name(upload_id)):
        raise _unknown(upload_id)
    return upload_id


def _unknown(upload_id: str) -> OdfError:
    return NotFound(f"there is no upload {upload_id[:64]!r}", hint="it may have expired; begin again")
