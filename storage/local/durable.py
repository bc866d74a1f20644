"""Files that survive a power cut: write under a hidden name, flush, rename, flush the folder.

All of it works relative to open folders, so a symbolic link planted in a store is never followed, neither as a file
nor as a folder on the way. Every failing call of the system becomes one of the store errors here and nowhere else.
A flush that failed is never tried again: the kernel may have dropped the pages and would then report success.
What a file means is not known here.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from opendatafabric.errors import (
    DatasetNotFound,
    LimitExceeded,
    OdfError,
    StorageError,
    StorageFull,
    TransientStorageError,
)
from opendatafabric.limits import LOCK_WAIT_S_MAX

PENDING_PREFIX: Final = ".pending-"
"""Names of files being written, as the reference writes them; readers ignore every name that starts with a dot."""

_PENDING_NAME: Final = re.compile(r"\.pending-[0-9a-f]{16}")
READ_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
APPEND_FLAGS: Final = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
CREATE_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FULL: Final = {errno.ENOSPC, errno.EDQUOT}
_TRANSIENT: Final = {errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.EBUSY, errno.ENOMEM, errno.ETIMEDOUT, errno.ESTALE}
_NOT_A_PLAIN_FILE: Final = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.EISDIR}
_FLUSH_TOGETHER_MIN: Final = 4
_POLL_S: Final = (0.0005, 0.02)


class FolderGoneError(FileNotFoundError):
    """Not the file is missing but the folder of the store: somebody deleted or renamed it."""


def storage_error(error: OSError, what: str) -> OdfError:
    """The store error that ``error`` amounts to; ``what`` names the file and the deed."""
    reason = f"{what}: {error.strerror or error}"
    if isinstance(error, FolderGoneError):
        return DatasetNotFound(reason, hint="was the dataset deleted or renamed meanwhile?")
    if error.errno in _FULL:
        return StorageFull(reason, hint="free space or inodes on the file system of the store, then repeat")
    if error.errno in _TRANSIENT:
        return TransientStorageError(reason)
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return StorageError(reason, hint="the store must be writable by the user that runs this program")
    return StorageError(reason)


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Turn failing calls of the system inside into store errors."""
    try:
        yield
    except OSError as error:
        raise storage_error(error, what) from error


def is_absent(error: OSError) -> bool:
    """Whether ``error`` means that there is no plain file of that name. A symbolic link counts as absent."""
    return error.errno in _NOT_A_PLAIN_FILE


@contextmanager
def opened(name: str | Path, flags: int, dir_fd: int | None = None) -> Iterator[int]:
    """An open descriptor, closed at the end."""
    descriptor = os.open(name, flags, 0o644, dir_fd=dir_fd)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def opened_folder(root: Path, *parts: str, create: bool = False) -> Iterator[int]:
    """The folder ``root/parts…``; no part may be a symbolic link. ``root`` itself is the caller's choice.

    With ``create`` missing parts are made, each durable in its parent before it is used; ``root`` never is, so that
    writing into a dataset that was just deleted does not bring a part of it back.
    """
    try:
        descriptor = os.open(root, _FOLDER_FLAGS & ~os.O_NOFOLLOW)
    except FileNotFoundError as error:
        raise FolderGoneError(error.errno, "the folder is gone", str(root)) from None
    try:
        for part in parts:
            outer, descriptor = descriptor, _open_part(descriptor, part, create)
            let_go(outer)
        yield descriptor
    finally:
        let_go(descriptor)


def let_go(descriptor: int) -> None:
    """Close what was only read, a folder or a file: nothing can be lost in that, whatever the system says."""
    with suppress(OSError):
        os.close(descriptor)


def _open_part(parent: int, name: str, create: bool) -> int:
    try:
        return os.open(name, _FOLDER_FLAGS, dir_fd=parent)
    except FileNotFoundError:
        if not create:
            raise
    with suppress(FileExistsError):
        os.mkdir(name, 0o755, dir_fd=parent)
    os.fsync(parent)
    return os.open(name, _FOLDER_FLAGS, dir_fd=parent)


def read_file(folder: int, name: str, *, size_max: int) -> bytes:
    """All bytes of a plain file.

    Raises:
        OSError: as the system says; ``ENOENT`` also for what is no plain file.
        LimitExceeded: more than ``size_max`` bytes.
    """
    descriptor = os.open(name, READ_FLAGS, dir_fd=folder)
    try:
        size = plain_size(descriptor, name)
        if size > size_max:
            raise LimitExceeded(f"{name} is larger than may be read at once", expected=size_max, found=size)
        data = os.read(descriptor, size)
        while len(data) < size and (more := os.read(descriptor, size - len(data))):
            data += more
        return data
    finally:
        os.close(descriptor)


def holds(folder: int, name: str, data: bytes) -> bool:
    """Whether ``name`` is a plain file of exactly these bytes."""
    try:
        return plain_status(folder, name).st_size == len(data) and read_file(folder, name, size_max=len(data)) == data
    except OSError as error:
        if is_absent(error):
            return False
        raise


def plain_status(folder: int, name: str) -> os.stat_result:
    """What the system says about a plain file; ``FileNotFoundError`` for anything else."""
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode):
        raise FileNotFoundError(errno.ENOENT, "not a plain file", name)
    return status


def open_plain(folder: int, name: str) -> int:
    """A descriptor of a plain file for reading; the caller closes it."""
    descriptor = os.open(name, READ_FLAGS, dir_fd=folder)
    try:
        plain_size(descriptor, name)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def plain_size(descriptor: int, name: str) -> int:
    """Size in bytes of an open plain file; ``FileNotFoundError`` for anything else."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise FileNotFoundError(errno.ENOENT, "not a plain file", name)
    return status.st_size


def pending_name() -> str:
    """A fresh hidden name."""
    return PENDING_PREFIX + secrets.token_hex(8)


def is_pending_name(name: str) -> bool:
    """Whether ``name`` is one that ``pending_name`` makes."""
    return _PENDING_NAME.fullmatch(name) is not None


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Write ``data`` whole, however little the system takes at a time."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def replace_file(folder: int, name: str, data: bytes) -> None:
    """Make ``name`` hold ``data``, whole or not at all, durable on return."""
    pending = write_pending(folder, data)
    with removed_on_failure(folder, pending):
        os.rename(pending, name, src_dir_fd=folder, dst_dir_fd=folder)
    os.fsync(folder)


def create_file(folder: int, name: str, data: bytes) -> None:
    """As ``replace_file``, but ``FileExistsError`` when ``name`` is taken: a link never replaces."""
    pending = write_pending(folder, data)
    try:
        os.link(pending, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    finally:
        remove_quietly(folder, pending)
    os.fsync(folder)


def replace_files(folder: int, files: Mapping[str, bytes], *, present: Sequence[str] = ()) -> None:
    """Make many files durable, and those ``present`` that somebody else wrote, with one flush for all.

    A failure leaves some files whole and the others as they were.
    """
    together = len(files) + len(present) >= _FLUSH_TOGETHER_MIN and _syncfs is not None
    waiting: dict[str, str] = {}
    try:
        for name, data in files.items():
            waiting[name] = write_pending(folder, data, flush=not together)
        _flush(folder, () if together else present, together)
        for name in files:
            os.rename(waiting[name], name, src_dir_fd=folder, dst_dir_fd=folder)
            del waiting[name]
    finally:
        for pending in waiting.values():
            remove_quietly(folder, pending)
    os.fsync(folder)


def _flush(folder: int, names: Sequence[str], together: bool) -> None:
    if together:
        flush_file_system(folder)
    for name in names:
        with opened(name, READ_FLAGS, folder) as descriptor:
            os.fdatasync(descriptor)


def write_pending(folder: int, data: bytes, *, flush: bool = True) -> str:
    """Write ``data`` under a fresh hidden name and return it; nothing stays when that fails."""
    name = pending_name()
    with removed_on_failure(folder, name), opened(name, CREATE_FLAGS, folder) as descriptor:
        write_all(descriptor, data)
        if flush:
            os.fdatasync(descriptor)
    return name


@contextmanager
def removed_on_failure(folder: int, name: str) -> Iterator[None]:
    """Remove ``name`` when the block fails in any way."""
    try:
        yield
    except BaseException:
        remove_quietly(folder, name)
        raise


def remove_quietly(folder: int, name: str) -> None:
    """Remove a hidden file. A failure only leaves a hidden file, which the sweeper finds."""
    with suppress(OSError):
        os.unlink(name, dir_fd=folder)


def _find_syncfs() -> Callable[[int], int] | None:
    try:
        function: Callable[[int], int] = ctypes.CDLL(None, use_errno=True).syncfs
    except (OSError, AttributeError):
        return None
    return function


_syncfs: Final = _find_syncfs()


def flush_file_system(folder: int) -> None:
    """Flush everything written to the file system of ``folder``: for many small files 20 times cheaper than each."""
    assert _syncfs is not None
    if _syncfs(folder) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@contextmanager
def locked(folder: int, what: str) -> Iterator[None]:
    """Hold the only lock on ``folder`` against all threads and processes; it goes with the process that holds it.

    Raises:
        TransientStorageError: somebody else held it for ``LOCK_WAIT_S_MAX``.
    """
    deadline = time.monotonic() + LOCK_WAIT_S_MAX
    pause, pause_max = _POLL_S
    while not try_lock(folder):
        if time.monotonic() > deadline:
            raise TransientStorageError(f"{what} was locked by another process for {LOCK_WAIT_S_MAX} s")
        time.sleep(pause)
        pause = min(pause * 1.5, pause_max)
    try:
        yield
    finally:
        fcntl.flock(folder, fcntl.LOCK_UN)


def is_unlocked(descriptor: int) -> bool:
    """Whether nobody else holds the lock of an open file. Askers do not disturb each other."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def try_lock(folder: int) -> bool:
    """Take the lock on an open file or folder, unless somebody else holds it; closing lets go of it."""
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
