"""Objects of one dataset as files under a folder, laid out as the reference writes them.

All folders of the layout are served but ``refs/``, which belongs to ``local/refs.py``. Keys are matched by the layout
before any path is joined. Every blocking call happens in a thread.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from opendatafabric.errors import Conflict, ObjectNotFound, OdfError
from opendatafabric.layout import DATA, INFO
from opendatafabric.limits import BLOCK_BYTES_MAX, READ_CHUNK_BYTES
from storage.fsck_files import check_dataset_files
from storage.hashing_stream import hash_while
from storage.keys import OBJECT_FOLDERS, is_addressed, is_object_key, split_key
from storage.local import durable
from storage.local.leases import LocalLeaseStore
from storage.local.pending import PendingFile
from storage.local.quarantine_files import expire
from storage.protocols import LeaseStore
from storage.values import ByteRange, Capabilities, Followed, FsckFinding, ObjectInfo, Quarantined, WriteMode

QUARANTINE_FOLDER: Final = DATA
"""Where arriving bytes wait: on the file system they will be published on, whatever they turn out to be."""

_LISTED_AT_ONCE: Final = 1_000
Infos = list[ObjectInfo]


class LocalObjectStore:
    """An ObjectStore in the folder ``root``, which must exist for writing; its folders are made as needed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.capabilities = Capabilities(writable=True, listable=True, sendfile=True)
        self.leases: LeaseStore = LocalLeaseStore(root)

    # --- reading

    async def stat(self, key: str) -> ObjectInfo:
        return await asyncio.to_thread(self._stat, key)

    async def read(self, key: str, *, size_max: int = BLOCK_BYTES_MAX) -> bytes:
        return await asyncio.to_thread(self._read, key, size_max)

    async def stream(self, key: str, byte_range: ByteRange | None = None) -> AsyncIterator[bytes]:
        window = byte_range or ByteRange(0)
        descriptor = await asyncio.to_thread(self._open, key)
        try:
            position = window.start
            while piece := await asyncio.to_thread(_read_piece, descriptor, key, position, window.end):
                yield piece
                position += len(piece)
        finally:
            durable.let_go(descriptor)

    async def follow(self, key: str, next_key: Callable[[bytes], str | None], *, count_max: int) -> Followed:
        return await asyncio.to_thread(self._follow, key, next_key, count_max)

    async def list(self, prefix: str = "") -> AsyncIterator[ObjectInfo]:
        for folder in OBJECT_FOLDERS:
            start = f"{folder}/"
            if not (start.startswith(prefix) or prefix.startswith(start)):
                continue
            names = await asyncio.to_thread(self._names, folder, prefix)
            for first in range(0, len(names), _LISTED_AT_ONCE):
                for info in await asyncio.to_thread(self._infos, folder, names[first : first + _LISTED_AT_ONCE]):
                    yield info

    def local_path(self, key: str) -> Path | None:
        split_key(key)
        return Path(f"{self.root}/{key}")

    # --- writing

    async def put(self, key: str, data: bytes, mode: WriteMode = WriteMode.KEEP) -> None:
        await asyncio.to_thread(self._put, key, data, mode)

    async def put_many(self, objects: Mapping[str, bytes]) -> None:
        await asyncio.to_thread(self._put_many, objects)

    async def quarantine(self, pieces: AsyncIterator[bytes], *, size_max: int) -> Quarantined:
        file = await asyncio.to_thread(PendingFile, self.root, QUARANTINE_FOLDER)
        try:
            physical_hash, size = await hash_while(file.write, pieces, size_max=size_max)
            await asyncio.to_thread(file.finish)
        except BaseException:
            await asyncio.shield(asyncio.to_thread(file.abandon))
            raise
        return Quarantined(file.name, physical_hash, size)

    async def publish(self, quarantined: Quarantined, key: str) -> None:
        await asyncio.to_thread(self._publish, quarantined, key)

    async def discard(self, quarantined: Quarantined) -> None:
        if durable.is_pending_name(quarantined.token):
            await asyncio.to_thread(self._remove, QUARANTINE_FOLDER, quarantined.token)

    async def expire_quarantine(self, *, before: float, dry_run: bool = False) -> Infos:
        return await asyncio.to_thread(expire, self.root, before=before, dry_run=dry_run)

    async def strays(self) -> Sequence[FsckFinding]:
        """As in ``Inspected``."""
        return await asyncio.to_thread(lambda: [*check_dataset_files(self.root)])

    async def delete(self, key: str) -> None:
        await asyncio.to_thread(self._remove, *split_key(key))

    # --- in a thread

    def _stat(self, key: str) -> ObjectInfo:
        folder_name, name = split_key(key)
        with reading(key), durable.opened_folder(self.root, folder_name) as folder:
            return _info(folder, folder_name, name)

    def _read(self, key: str, size_max: int) -> bytes:
        folder_name, name = split_key(key)
        with reading(key), durable.opened_folder(self.root, folder_name) as folder:
            return durable.read_file(folder, name, size_max=size_max)

    def _open(self, key: str) -> int:
        folder_name, name = split_key(key)
        with reading(key), durable.opened_folder(self.root, folder_name) as folder:
            return durable.open_plain(folder, name)

    def _follow(self, key: str, next_key: Callable[[bytes], str | None], count_max: int) -> Followed:
        found: Followed = []
        following: str | None = key
        with _OpenFolders(self.root) as folders:
            while following is not None and len(found) < count_max:
                data = folders.read(following)
                found.append((following, data))
                following = next_key(data)
        return found

    def _names(self, folder_name: str, prefix: str) -> Sequence[str]:
        try:
            with durable.opened_folder(self.root, folder_name) as folder:
                names = os.listdir(folder)
        except OSError as error:
            if durable.is_absent(error):
                return []
            raise durable.storage_error(error, f"list {folder_name}/") from error
        keys = (f"{folder_name}/{name}" for name in names)
        return [key.partition("/")[2] for key in keys if key.startswith(prefix) and is_object_key(key)]

    def _infos(self, folder_name: str, names: Sequence[str]) -> Sequence[ObjectInfo]:
        infos = []
        with durable.translated(f"list {folder_name}/"), durable.opened_folder(self.root, folder_name) as folder:
            for name in names:
                # What vanished since the names were read, or is no plain file, is simply not listed.
                with suppress(FileNotFoundError):
                    infos.append(_info(folder, folder_name, name))
        return infos

    def _put(self, key: str, data: bytes, mode: WriteMode) -> None:
        folder_name, name = split_key(key)
        with writing(key), durable.opened_folder(self.root, folder_name, create=True) as folder:
            if mode is WriteMode.REPLACE:
                durable.replace_file(folder, name, data)
            elif mode is WriteMode.CREATE:
                durable.create_file(folder, name, data)
            elif is_addressed(key):
                _keep(folder, {name: data})
            else:
                with suppress(FileExistsError):
                    durable.create_file(folder, name, data)

    def _put_many(self, objects: Mapping[str, bytes]) -> None:
        by_folder: dict[str, dict[str, bytes]] = {}
        for key, data in objects.items():
            folder_name, name = split_key(key)
            by_folder.setdefault(folder_name, {})[name] = data
        for name, data in by_folder.pop(INFO, {}).items():
            self._put(f"{INFO}/{name}", data, WriteMode.KEEP)
        for folder_name, files in by_folder.items():
            with writing(f"{folder_name}/"), durable.opened_folder(self.root, folder_name, create=True) as folder:
                _keep(folder, files)

    def _publish(self, quarantined: Quarantined, key: str) -> None:
        folder_name, name = split_key(key)
        if not durable.is_pending_name(quarantined.token):
            raise _not_quarantined(quarantined)
        with (
            writing(key),
            durable.opened_folder(self.root, QUARANTINE_FOLDER, create=True) as source,
            durable.opened_folder(self.root, folder_name, create=True) as target,
        ):
            try:
                os.rename(quarantined.token, name, src_dir_fd=source, dst_dir_fd=target)
            except FileNotFoundError:
                raise _not_quarantined(quarantined) from None
            os.fsync(target)

    def _remove(self, folder_name: str, name: str) -> None:
        try:
            with durable.opened_folder(self.root, folder_name) as folder:
                os.unlink(name, dir_fd=folder)
                os.fsync(folder)
        except OSError as error:
            if not durable.is_absent(error):
                raise durable.storage_error(error, f"delete {folder_name}/{name}") from error


class _OpenFolders(ExitStack):
    """Folders of a store, opened when first needed and kept open for many reads."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self._root = root
        self._folders: dict[str, int] = {}

    def read(self, key: str) -> bytes:
        folder_name, name = split_key(key)
        try:
            if folder_name not in self._folders:
                self._folders[folder_name] = self.enter_context(durable.opened_folder(self._root, folder_name))
            return durable.read_file(self._folders[folder_name], name, size_max=BLOCK_BYTES_MAX)
        except OSError as error:  # not ``with reading``: entering that would cost as much as opening the file
            raise _reading_error(error, key) from error


@contextmanager
def reading(key: str) -> Iterator[None]:
    """Absence becomes ``ObjectNotFound``, everything else a store error."""
    try:
        yield
    except OSError as error:
        raise _reading_error(error, key) from error


def _reading_error(error: OSError, key: str) -> OdfError:
    if durable.is_absent(error):
        return ObjectNotFound(f"{key} is not in the store")
    return durable.storage_error(error, f"read {key}")


@contextmanager
def writing(key: str) -> Iterator[None]:
    """An existing file becomes ``Conflict``, everything else a store error."""
    try:
        yield
    except FileExistsError:
        raise Conflict(f"{key} exists already") from None
    except OSError as error:
        raise durable.storage_error(error, f"write {key}") from error


def _not_quarantined(quarantined: Quarantined) -> OdfError:
    return ObjectNotFound(f"nothing is quarantined as {quarantined.token!r}", hint="upload the object again")


def _info(folder: int, folder_name: str, name: str) -> ObjectInfo:
    status = durable.plain_status(folder, name)
    return ObjectInfo(f"{folder_name}/{name}", status.st_size, status.st_mtime)


def _keep(folder: int, files: Mapping[str, bytes]) -> None:
    # What is there already may have been renamed but not flushed yet by another process: it is flushed again.
    present = [name for name, data in files.items() if durable.holds(folder, name, data)]
    missing = dict(files)
    for name in present:
        del missing[name]
    durable.replace_files(folder, missing, present=present)


def _read_piece(descriptor: int, key: str, position: int, end: int | None) -> bytes:
    wanted = READ_CHUNK_BYTES if end is None else min(READ_CHUNK_BYTES, end - position)
    with durable.translated(f"read {key}"):
        return os.pread(descriptor, wanted, position) if wanted > 0 else b""
