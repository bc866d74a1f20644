"""Objects of a dataset in a bucket: streamed in ranges, taken in by multipart, published by a copy inside the store.

What has arrived and is not proved lies below ``.pending/``, which no reader lists. Memory is bounded by a few parts or
ranges, whatever the size of an object. An object appears whole: S3 shows a write or a copy when it is complete.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any, Final, cast

import obstore

from opendatafabric.errors import (
    Conflict,
    LimitExceeded,
    ObjectNotFound,
    OdfError,
    StorageError,
    TransientStorageError,
)
from opendatafabric.limits import (
    BLOCK_BYTES_MAX,
    S3_PART_BYTES,
    S3_PARTS_MAX,
    S3_REQUESTS_AT_ONCE,
    S3_WINDOW_BYTES,
    S3_WINDOWS_AHEAD,
)
from storage.keys import is_addressed, is_object_key, split_key
from storage.protocols import LeaseStore
from storage.reading import followed
from storage.s3.client import bucket_at
from storage.s3.copying import copy_object
from storage.s3.errors import ConditionError, is_beyond_the_end, translated
from storage.s3.incoming import Incoming
from storage.s3.leases import S3LeaseStore
from storage.s3.leftovers import expire_waiting, give_up_uploads
from storage.s3.location import S3Location
from storage.s3.pending import pending_path, pending_paths, pending_token
from storage.s3.retries import retried
from storage.s3.strays import strays_in
from storage.values import ByteRange, Capabilities, Followed, FsckFinding, ObjectInfo, Quarantined, WriteMode

_WRITING_BYTES: Final = 4 * S3_PART_BYTES
"""What the parts of one upload may take while they are under way; at least two of them are."""


Infos = list[ObjectInfo]


class S3ObjectStore:
    """An ObjectStore at ``location``."""

    def __init__(self, location: S3Location) -> None:
        self.capabilities = Capabilities(writable=True, listable=True, presigned=True)
        self.leases: LeaseStore = S3LeaseStore(location)
        self.location = location
        self.bucket = bucket_at(location.bucket, location.endpoint)

    # --- reading

    async def stat(self, key: str) -> ObjectInfo:
        path, store = self._path(key), await self.bucket.store()

        async def ask() -> ObjectInfo:
            with translated(f"look at {key}"):
                return _info(key, await obstore.head_async(store, path))

        return await retried(ask)

    async def read(self, key: str, *, size_max: int = BLOCK_BYTES_MAX) -> bytes:
        path, store = self._path(key), await self.bucket.store()

        async def ask() -> bytes:
            with translated(f"read {key}"):
                result = await obstore.get_async(store, path)
                size = result.meta["size"]
                if size > size_max:
                    raise LimitExceeded(f"{key} is larger than may be read at once", expected=size_max, found=size)
                return _whole(key, bytes(await result.bytes_async()), size)

        return await retried(ask)

    async def stream(self, key: str, byte_range: ByteRange | None = None) -> AsyncIterator[bytes]:
        path = self._path(key)
        window = byte_range or ByteRange(0)
        asked_end = window.end if window.end is not None else window.start + S3_WINDOW_BYTES
        if asked_end <= window.start:
            await self.stat(key)
            return
        end = min(asked_end, window.start + S3_WINDOW_BYTES)
        first = await retried(lambda: self._first(path, window.start, end))
        if first is None:
            return
        data, size, etag = first
        end = window.start + len(data)
        yield data
        stop = size if window.end is None else min(size, window.end)
        async with aclosing(self._windows(path, end, stop, etag)) as windows:
            async for data in windows:
                yield data

    async def follow(self, key: str, next_key: Callable[[bytes], str | None], *, count_max: int) -> Followed:
        return await followed(self.read, key, next_key, count_max=count_max)

    async def list(self, prefix: str = "") -> AsyncIterator[ObjectInfo]:
        store = await self.bucket.store()
        folder = prefix.rpartition("/")[0]
        batches = obstore.list(store, self.location.path(folder).rstrip("/") or None).__aiter__()
        while True:
            with translated(f"list {folder}/"):
                batch = await anext(batches, None)
            if batch is None:
                return
            for info in (_info(meta["path"].removeprefix(self.location.path("")), meta) for meta in batch):
                if info.key.startswith(prefix) and is_object_key(info.key):
                    yield info

    def local_path(self, key: str) -> Path | None:
        split_key(key)
        return None

    async def _first(self, path: str, start: int, end: int) -> tuple[bytes, int, str | None] | None:
        """The first bytes of a range, the size of the object and its version; ``None`` beyond the end."""
        store = await self.bucket.store()
        with translated(f"read {path}"):
            try:
                result = await obstore.get_async(store, path, options={"range": (start, end)})
            except obstore.exceptions.BaseError as error:
                if is_beyond_the_end(error):
                    return None
                raise
            size = result.meta["size"]
            data = _whole(path, bytes(await result.bytes_async()), min(end, size) - start)
            return data, size, result.meta["e_tag"]

    async def _windows(self, path: str, start: int, stop: int, etag: str | None) -> AsyncGenerator[bytes]:
        """The bytes from ``start`` to ``stop``, a few ranges asked for ahead."""
        starts = iter(range(start, stop, S3_WINDOW_BYTES))
        waiting: deque[asyncio.Task[bytes]] = deque()

        def ask_next() -> None:
            at = next(starts, None)
            if at is not None:
                end = min(at + S3_WINDOW_BYTES, stop)
                waiting.append(asyncio.create_task(retried(lambda: self._window(path, at, end, etag))))

        try:
            for _ in range(S3_WINDOWS_AHEAD):
                ask_next()
            while waiting:
                data = await waiting.popleft()
                ask_next()
                yield data
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def _window(self, path: str, start: int, end: int, etag: str | None) -> bytes:
        store = await self.bucket.store()
        options: dict[str, Any] = {"range": (start, end)} | ({} if etag is None else {"if_match": etag})
        try:
            with translated(f"read {path}"):
                result = await obstore.get_async(store, path, options=cast(Any, options))
                return _whole(path, bytes(await result.bytes_async()), end - start)
        except ConditionError:
            raise StorageError(f"{path} was replaced while it was being read", hint="read it again") from None

    # --- writing

    async def put(self, key: str, data: bytes, mode: WriteMode = WriteMode.KEEP) -> None:
        path, store = self._path(key), await self.bucket.store()
        only_new = mode is WriteMode.CREATE or (mode is WriteMode.KEEP and not is_addressed(key))

        async def write() -> None:
            with translated(f"write {key}"):
                how = "create" if only_new else "overwrite"
                await obstore.put_async(store, path, data, mode=cast(Any, how), use_multipart=False)

        try:
            await (write() if only_new else retried(write))
        except ConditionError:
            if mode is WriteMode.CREATE:
                raise Conflict(f"{key} exists already") from None

    async def put_many(self, objects: Mapping[str, bytes]) -> None:
        for key in objects:
            split_key(key)
        waiting = iter(objects.items())

        async def work() -> None:
            for key, data in waiting:
                await self.put(key, data)

        tasks = [asyncio.create_task(work()) for _ in range(min(S3_REQUESTS_AT_ONCE, len(objects)))]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def quarantine(self, pieces: AsyncIterator[bytes], *, size_max: int) -> Quarantined:
        token = pending_token()
        path, incoming = pending_path(self.location, token), Incoming(pieces, size_max=size_max)
        try:
            await self._take_in(path, incoming, size_max)
        except BaseException as error:
            if incoming.failure is not None:
                raise incoming.failure from None
            if not isinstance(error, OdfError) or not await self._has_all(path, incoming):
                raise
        return Quarantined(token, incoming.hasher.finish(), incoming.hasher.size)

    async def _take_in(self, path: str, incoming: Incoming, size_max: int) -> None:
        head, store = await incoming.take(S3_PART_BYTES), await self.bucket.store()
        part_bytes = max(S3_PART_BYTES, -(-size_max // (S3_PARTS_MAX - 1)))
        try:
            with translated("take in an object"):
                await obstore.put_async(
                    store,
                    path,
                    b"".join(head) if incoming.ended else incoming.after(head),
                    use_multipart=not incoming.ended,
                    chunk_size=part_bytes,
                    max_concurrency=max(2, _WRITING_BYTES // part_bytes),
                )
        except ObjectNotFound as error:  # what is not there any more is the upload, which the library gave up
            raise TransientStorageError("take in an object: the store broke off", hint="upload it again") from error

    async def _has_all(self, path: str, incoming: Incoming) -> bool:
        """Whether everything that came lies there: the answer to the last request may have been lost."""
        with suppress(OdfError), translated(f"look at {path}"):
            there = await obstore.head_async(await self.bucket.store(), path)
            return incoming.ended and there["size"] == incoming.hasher.size
        return False

    async def publish(self, quarantined: Quarantined, key: str) -> None:
        path = self._path(key)
        waiting = pending_paths(self.location, quarantined.token)
        try:
            await retried(lambda: copy_object(self.bucket, waiting[0], path, quarantined.size))
        except ObjectNotFound:
            raise ObjectNotFound(
                f"nothing is quarantined as {quarantined.token!r}", hint="upload the object again"
            ) from None
        await self._delete_all(waiting)

    async def discard(self, quarantined: Quarantined) -> None:
        with suppress(ObjectNotFound):
            await self._delete_all(pending_paths(self.location, quarantined.token))

    async def expire_quarantine(self, *, before: float, dry_run: bool = False) -> Infos:
        waiting = await expire_waiting(self.bucket, self.location, before=before, dry_run=dry_run)
        return waiting + await give_up_uploads(self.bucket, self.location, before=before, dry_run=dry_run)

    async def strays(self) -> Sequence[FsckFinding]:
        """As in ``Inspected``."""
        return await strays_in(self.bucket, self.location)

    async def delete(self, key: str) -> None:
        await self._delete(self._path(key))

    async def _delete_all(self, paths: Sequence[str]) -> None:
        for path in paths:
            await self._delete(path)

    async def _delete(self, path: str) -> None:
        store = await self.bucket.store()

        async def delete() -> None:
            with translated(f"delete {path}"):
                await obstore.delete_async(store, path)

        with suppress(ObjectNotFound):
            await retried(delete)

    def _path(self, key: str) -> str:
        split_key(key)
        return self.location.path(key)


def _info(key: str, meta: Mapping[str, Any]) -> ObjectInfo:
    return ObjectInfo(key, meta["size"], meta["last_modified"].timestamp())


def _whole(what: str, data: bytes, size: int) -> bytes:
    if len(data) != size:
        raise TransientStorageError(f"{what} came cut short", expected=f"{size} bytes", found=len(data))
    return data
