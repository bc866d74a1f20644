"""Hidden files in a dataset folder that interrupted writes left: which are old enough to go, and removing them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from opendatafabric.layout import ALL_FOLDERS
from storage.local import durable
from storage.local.leases import LEASES_FOLDER
from storage.values import ObjectInfo

UPLOAD_STATE_SUFFIX: Final = ".json"
"""A hidden file with such a neighbour is a resumable upload, which has a lease of its own."""


def expire(root: Path, *, before: float, dry_run: bool) -> list[ObjectInfo]:
    """Remove hidden files that nobody changed since ``before`` and nobody is writing; what they were."""
    return [
        info for folder_name in (*ALL_FOLDERS, LEASES_FOLDER) for info in _expire_in(root, folder_name, before, dry_run)
    ]


def _expire_in(root: Path, folder_name: str, before: float, dry_run: bool) -> list[ObjectInfo]:
    try:
        with durable.opened_folder(root, folder_name) as folder:
            found = [_abandoned(folder, folder_name, name) for name in _waiting(folder)]
            expired = [info for info in found if info is not None and info.modified_at < before]
            for info in [] if dry_run else expired:
                durable.remove_quietly(folder, info.key.removeprefix(f"{folder_name}/"))
            return expired
    except OSError as error:
        if durable.is_absent(error):
            return []
        raise durable.storage_error(error, f"clear {folder_name}/") from error


def _waiting(folder: int) -> list[str]:
    names = set(os.listdir(folder))
    return sorted(
        name for name in names if durable.is_pending_name(name) and f"{name}{UPLOAD_STATE_SUFFIX}" not in names
    )


def _abandoned(folder: int, folder_name: str, name: str) -> ObjectInfo | None:
    try:
        descriptor = durable.open_plain(folder, name)
    except FileNotFoundError:
        return None
    try:
        if not durable.is_unlocked(descriptor):
            return None  # somebody is writing it
        status = os.fstat(descriptor)
        return ObjectInfo(f"{folder_name}/{name}", status.st_size, status.st_mtime)
    finally:
        os.close(descriptor)
