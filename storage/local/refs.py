"""BlockRefs of one dataset as files in ``refs/``: the hash as text, 69 bytes, no newline, as the reference writes it.

A ref moves by lock, compare, write, flush, rename, flush of the folder. The lock is on the folder itself, so nothing is
left behind that another program could stumble over, and it ends with the process that holds it.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Final

from opendatafabric.block_ref import check_block_ref
from opendatafabric.errors import MalformedIdentifier
from opendatafabric.multihash import Multihash
from storage.local import durable
from storage.ref_text import REF_BYTES_MAX, is_ref_name, parse_ref, ref_conflict

_FOLDER: Final = "refs"
Names = list[str]


class LocalRefStore:
    """A RefStore in ``root/refs``; ``root`` must exist for writing."""

    def __init__(self, root: Path) -> None:
        self.root = root

    async def read(self, name: str) -> Multihash | None:
        check_block_ref(name)
        return await asyncio.to_thread(self._read, name)

    async def compare_and_swap(self, name: str, *, expected: Multihash | None, new: Multihash | None) -> None:
        check_block_ref(name)
        await asyncio.to_thread(self._swap, name, expected, new)

    async def list(self) -> dict[str, Multihash]:
        return await asyncio.to_thread(self._list)

    async def names(self) -> Names:
        """Names of all refs, of those too that cannot be read."""
        return await asyncio.to_thread(self._names)

    def _read(self, name: str) -> Multihash | None:
        try:
            with durable.opened_folder(self.root, _FOLDER) as folder:
                return _read_in(folder, name)
        except OSError as error:
            if durable.is_absent(error):
                return None
            raise durable.storage_error(error, f"read {_FOLDER}/{name}") from error

    def _swap(self, name: str, expected: Multihash | None, new: Multihash | None) -> None:
        what = f"{_FOLDER}/{name}"
        with (
            durable.translated(f"write {what}"),
            durable.opened_folder(self.root, _FOLDER, create=True) as folder,
            durable.locked(folder, f"{self.root.name}/{_FOLDER}"),
        ):
            actual = _read_if_present(folder, name)
            if actual != expected:
                raise ref_conflict(name, expected, actual)
            if new is not None:
                durable.replace_file(folder, name, str(new).encode())
            elif actual is not None:
                os.unlink(name, dir_fd=folder)
                os.fsync(folder)

    def _list(self) -> dict[str, Multihash]:
        found = {name: self._read(name) for name in self._names()}
        return {name: head for name, head in found.items() if head is not None}

    def _names(self) -> Names:
        try:
            with durable.opened_folder(self.root, _FOLDER) as folder:
                return sorted(name for name in os.listdir(folder) if is_ref_name(name))
        except OSError as error:
            if durable.is_absent(error):
                return []
            raise durable.storage_error(error, f"list {_FOLDER}/") from error


def _read_if_present(folder: int, name: str) -> Multihash | None:
    try:
        return _read_in(folder, name)
    except OSError as error:
        if durable.is_absent(error):
            return None
        raise


def _read_in(folder: int, name: str) -> Multihash:
    what = f"{_FOLDER}/{name}"
    with durable.opened(name, durable.READ_FLAGS, folder) as descriptor:
        if durable.plain_size(descriptor, name) > REF_BYTES_MAX:
            raise MalformedIdentifier(f"{what} is too long for a hash", hint="run odf fsck")
        return parse_ref(what, os.read(descriptor, REF_BYTES_MAX))
