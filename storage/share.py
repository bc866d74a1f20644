"""Equal objects of several datasets kept once on a disk: their files become names of one and the same (hard links).

Done now and then, not while objects arrive: nothing that publishes, reads, collects or heals knows of it. Every dataset
keeps a name of its own in its own folder, so who may read what does not change, and the bytes go with the last name.
A file is given away only after its bytes were hashed; replacing follows the same steps as every write.
See docs/adr/0007.
"""

from __future__ import annotations

import asyncio
import errno
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from opendatafabric.layout import CHECKPOINTS, DATA, parse_key
from opendatafabric.limits import READ_CHUNK_BYTES
from opendatafabric.multihash import Hasher, Multihash
from storage import folders
from storage.collect import Amount
from storage.keys import is_object_key
from storage.local import durable
from storage.repositories import DatasetRepository
from storage.repository import Repository

_CANNOT: Final = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EXDEV, errno.EMLINK, errno.EACCES}
"""The file system has no links, not for us, or no more for this file: both files stay as they are."""


async def share_objects(repository: DatasetRepository, *, grace_s: float, dry_run: bool = False) -> Amount:
    """Let equal objects of different datasets share their bytes; how many files were given up, and their bytes.

    Files younger than ``grace_s`` stay by themselves, since a shared one looks as old as the oldest. Folders that
    another program made (without the marker of ``odf init``) are left as that program wrote them. Only disks share.

    Raises:
        StorageError: the disk failed; what is shared is shared, and it can be repeated.
    """
    if not (isinstance(repository, Repository) and (repository.root / folders.MARKER_NAME).is_file()):
        return Amount()
    return await asyncio.to_thread(_share, repository.root, time.time() - grace_s, dry_run)


@dataclass(frozen=True, slots=True)
class _File:
    """One name of an object."""

    root: Path
    kind: str
    name: str
    status: os.stat_result

    @property
    def likeness(self) -> tuple[object, ...]:
        """Equal for files that only their places tell apart, if their bytes are what they should be."""
        status = self.status
        return self.name, status.st_size, status.st_dev, status.st_uid, status.st_gid, status.st_mode


def _share(root: Path, before: float, dry_run: bool) -> Amount:
    saved = Amount()
    kept: dict[tuple[object, ...], _File] = {}
    sound: set[int] = set()
    for file in _objects(root):
        keeper = kept.setdefault(file.likeness, file)
        if keeper.status.st_ino == file.status.st_ino or max(file.status.st_mtime, keeper.status.st_mtime) > before:
            continue
        if keeper.status.st_ino not in sound and not _is_sound(keeper):
            kept[file.likeness] = file
            continue
        sound.add(keeper.status.st_ino)
        if dry_run or _replace(file, keeper):
            saved.add(file.status.st_size)
        else:
            kept[file.likeness] = file
    return saved


def _objects(root: Path) -> Iterator[_File]:
    for found in sorted(folders.scan(root), key=lambda each: each.path):
        for kind in (DATA, CHECKPOINTS):
            yield from _files_in(found.path, kind)


def _files_in(root: Path, kind: str) -> Iterator[_File]:
    try:
        with durable.opened_folder(root, kind) as folder:
            names = [name for name in os.listdir(folder) if is_object_key(f"{kind}/{name}")]
            yield from (file for name in names if (file := _file(folder, root, kind, name)) is not None)
    except OSError as error:
        if not durable.is_absent(error):
            raise durable.storage_error(error, f"list {kind}/") from error


def _file(folder: int, root: Path, kind: str, name: str) -> _File | None:
    try:
        return _File(root, kind, name, durable.plain_status(folder, name))
    except FileNotFoundError:
        return None  # deleted meanwhile, or no plain file


def _is_sound(file: _File) -> bool:
    with durable.translated(f"read {file.kind}/{file.name}"):
        try:
            return _hash_of(file) == parse_key(f"{file.kind}/{file.name}")[1]
        except FileNotFoundError:
            return False


def _hash_of(file: _File) -> Multihash | None:
    """The hash of what is flushed under that name, if it is still the file that was listed."""
    hasher = Hasher()
    with (
        durable.opened_folder(file.root, file.kind) as folder,
        durable.opened(file.name, durable.READ_FLAGS, folder) as descriptor,
    ):
        if os.fstat(descriptor).st_ino != file.status.st_ino:
            return None
        while piece := os.read(descriptor, READ_CHUNK_BYTES):
            hasher.update(piece)
        os.fsync(descriptor)
    return hasher.finish()


def _replace(file: _File, keeper: _File) -> bool:
    """Let the name ``file`` lead to the bytes of ``keeper``; whether that can be."""
    try:
        with (
            durable.opened_folder(keeper.root, keeper.kind) as source,
            durable.opened_folder(file.root, file.kind) as target,
        ):
            return _linked(source, keeper, target, file.name)
    except OSError as error:
        if error.errno in _CANNOT or durable.is_absent(error):
            return False
        raise durable.storage_error(error, f"share {file.kind}/{file.name}") from error


def _linked(source: int, keeper: _File, target: int, name: str) -> bool:
    pending = durable.pending_name()
    os.link(keeper.name, pending, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
    try:
        if os.stat(pending, dir_fd=target, follow_symlinks=False).st_ino != keeper.status.st_ino:
            return False  # it was replaced since it was hashed
        os.stat(name, dir_fd=target, follow_symlinks=False)  # what was deleted meanwhile does not come back
        os.rename(pending, name, src_dir_fd=target, dst_dir_fd=target)
    finally:
        durable.remove_quietly(target, pending)  # renaming between two names of one file leaves both
    os.fsync(target)
    return True
