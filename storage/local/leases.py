"""Leases of a dataset folder: files in a hidden folder, each locked by the process that placed it.

The kernel lets go of the lock when the process dies, however it dies, so no clock is needed to tell the living from
the dead, and nobody waits for the dead. A file that can be locked by somebody else has lost its holder and is removed.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

from opendatafabric.errors import TransientStorageError
from opendatafabric.limits import LEASE_BYTES_MAX
from storage.local import durable
from storage.values import Lease, LeaseKind

LEASES_FOLDER: Final = ".leases"
_TRIES_MAX: Final = 100


class LocalLeaseStore:
    """A LeaseStore in the dataset folder ``root``."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._held: dict[str, int] = {}

    async def place(self, kind: LeaseKind, contents: bytes) -> Lease:
        return await asyncio.to_thread(self._place, kind, contents)

    async def withdraw(self, lease: Lease) -> None:
        await asyncio.to_thread(self._withdraw, lease)

    async def standing(self) -> list[Lease]:
        return await asyncio.to_thread(self._standing)

    async def confirm(self) -> None:
        """The kernel keeps the locks for as long as this process lives."""

    # --- in a thread

    def _place(self, kind: LeaseKind, contents: bytes) -> Lease:
        name = f"{kind.value}-{secrets.token_hex(8)}"
        with (
            durable.translated(f"write {LEASES_FOLDER}/{name}"),
            durable.opened_folder(self._root, LEASES_FOLDER, create=True) as folder,
        ):
            self._held[name], placed_at = _new_locked_file(folder, contents, name)
        return Lease(name, kind, contents, placed_at)

    def _withdraw(self, lease: Lease) -> None:
        descriptor = self._held.pop(lease.token, None)
        if descriptor is None:
            return
        # Whatever fails here: once it is closed, the file has lost its holder and stands for nothing.
        with suppress(OSError), durable.opened_folder(self._root, LEASES_FOLDER) as folder:
            os.unlink(lease.token, dir_fd=folder)
        with suppress(OSError):
            os.close(descriptor)

    def _standing(self) -> list[Lease]:
        try:
            with durable.opened_folder(self._root, LEASES_FOLDER) as folder:
                found = [_read_if_held(folder, name) for name in os.listdir(folder)]
        except OSError as error:
            if durable.is_absent(error):
                return []
            raise durable.storage_error(error, f"read {LEASES_FOLDER}/") from error
        return [lease for lease in found if lease is not None]


def _new_locked_file(folder: int, contents: bytes, name: str) -> tuple[int, float]:
    """Locked before it has its name, so that nobody takes it for one that lost its holder. Also when it was made."""
    for _ in range(_TRIES_MAX):
        hidden = durable.pending_name()
        descriptor = os.open(hidden, durable.CREATE_FLAGS, 0o644, dir_fd=folder)
        try:
            durable.write_all(descriptor, contents)
            placed_at = os.fstat(descriptor).st_mtime
            if durable.try_lock(descriptor):  # else somebody looks whether it was left behind
                os.rename(hidden, name, src_dir_fd=folder, dst_dir_fd=folder)
                return descriptor, placed_at
        except BaseException:
            _drop(folder, hidden, descriptor)
            raise
        _drop(folder, hidden, descriptor)
    raise TransientStorageError(f"{LEASES_FOLDER}/{name} is locked as soon as it is made")


def _drop(folder: int, hidden: str, descriptor: int) -> None:
    durable.remove_quietly(folder, hidden)
    os.close(descriptor)


def _read_if_held(folder: int, name: str) -> Lease | None:
    kind = next((kind for kind in LeaseKind if name.startswith(f"{kind.value}-")), None)
    if kind is None:
        return None
    try:
        descriptor = durable.open_plain(folder, name)
    except FileNotFoundError:
        return None  # withdrawn meanwhile
    try:
        if durable.is_unlocked(descriptor):
            durable.remove_quietly(folder, name)
            return None
        placed_at = os.fstat(descriptor).st_mtime
        return Lease(name, kind, durable.read_file(folder, name, size_max=LEASE_BYTES_MAX), placed_at)
    except FileNotFoundError:
        return None
    finally:
        os.close(descriptor)
