"""The part of fsck that only a folder needs: names that do not belong there, links, and what interrupted writes left.

Leftovers are the one thing that may be repaired without asking a mirror: ``remove_leftovers``.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from opendatafabric.layout import ALL_FOLDERS, INFO, REFS
from storage.folder_changes import HIDDEN_PREFIXES
from storage.keys import is_object_key
from storage.local import durable
from storage.ref_text import is_ref_name
from storage.values import FsckFinding

_LEFTOVER_REMEDY: Final = "odf fsck --repair removes it once it is older than every running push"


def check_dataset_files(root: Path) -> Iterator[FsckFinding]:
    """What lies in a dataset folder and is none of its keys."""
    for entry in _entries(root):
        if entry.name in ALL_FOLDERS and entry.is_symlink():
            yield _link(entry.name)
        elif entry.name in ALL_FOLDERS and entry.is_dir():
            yield from _check_folder(Path(entry.path), entry.name)
        elif not entry.name.startswith("."):
            yield _foreign(entry.name)


def check_repository_files(root: Path) -> Iterator[FsckFinding]:
    """What interrupted changes of a repository left in its root, and links that are not followed."""
    for entry in _entries(root):
        if entry.name.startswith(HIDDEN_PREFIXES):
            yield FsckFinding("leftover", entry.name, "left by an interrupted change", _LEFTOVER_REMEDY)
        elif entry.is_symlink():
            yield _link(entry.name)


def remove_leftovers(root: Path, *, before: float) -> list[str]:
    """Remove hidden files of interrupted writes not changed since ``before`` (seconds since 1970); their keys.

    ``root`` is a dataset folder or a repository.
    """
    removed = []
    for path in [*root.glob("*/.pending-*"), *root.glob("*/*/.pending-*"), *root.glob("*/*/*/.pending-*")]:
        with durable.translated(f"remove {path.name}"):
            if path.lstat().st_mtime < before:
                path.unlink()
                removed.append(str(path.relative_to(root)))
    for path in [path for prefix in HIDDEN_PREFIXES for path in root.glob(f"{prefix}*")]:
        if path.lstat().st_mtime < before:
            shutil.rmtree(path, ignore_errors=True)
            removed.append(path.name)
    return sorted(removed)


def _entries(path: Path) -> list[os.DirEntry[str]]:
    with durable.translated(f"list {path.name}/"), os.scandir(path) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def _check_folder(path: Path, folder: str) -> Iterator[FsckFinding]:
    for entry in _entries(path):
        key = f"{folder}/{entry.name}"
        if entry.name.startswith(durable.PENDING_PREFIX):
            yield FsckFinding("leftover", key, "left by an interrupted write, or being written now", _LEFTOVER_REMEDY)
        elif entry.is_symlink():
            yield _link(key)
        elif not entry.name.startswith(".") and not (_belongs(folder, entry.name) and entry.is_file()):
            yield _foreign(key)


def _belongs(folder: str, name: str) -> bool:
    if folder == REFS:
        return is_ref_name(name)
    return folder == INFO or is_object_key(f"{folder}/{name}")


def _link(key: str) -> FsckFinding:
    return FsckFinding("symbolic-link", key, "links are never followed", "put the file or folder itself there")


def _foreign(key: str) -> FsckFinding:
    return FsckFinding("foreign-file", key, "no part of a dataset", "remove it if you know what it is")
