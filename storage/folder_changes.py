"""Changing the folders of a repository: each change appears at once for readers and is durable on return.

The caller holds the lock of the root and has checked that the change is allowed; see ``repository.py``. New folders are
built and old ones emptied under hidden names, so that an interrupted change leaves nothing that looks like a dataset.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from opendatafabric.block_ref import HEAD
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId
from opendatafabric.layout import FOLDERS, INFO, REFS
from storage.folders import ID_NAME, kept_place
from storage.local import durable

_CREATING: Final = ".creating-"
_DELETED: Final = ".deleted-"
HIDDEN_PREFIXES: Final = (_CREATING, _DELETED)
"""Names of folders that are no datasets yet, or none any more."""


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Hold the lock of a repository against all threads and processes.

    Raises:
        TransientStorageError: somebody else held it too long.
    """
    what = f"repository {root}"
    with durable.translated(f"change {what}"), durable.opened_folder(root) as folder, durable.locked(folder, what):
        yield


def build(root: Path, path: Path, alias: DatasetAlias, dataset_id: DatasetId) -> None:
    """Make the empty dataset folder ``path``."""
    hidden = root / (_CREATING + secrets.token_hex(8))
    try:
        for name in FOLDERS:
            (hidden / name).mkdir(parents=True)
        write_identity(hidden, alias, dataset_id)
        _flush(hidden)
        path.parent.mkdir(exist_ok=True)
        hidden.rename(path)
    except BaseException:
        remove(hidden)
        raise
    _flush(path.parent)
    _flush(root)


def write_identity(path: Path, alias: DatasetAlias, dataset_id: DatasetId) -> None:
    """Write into the dataset folder ``path`` what it is called."""
    with durable.opened_folder(path, INFO, create=True) as info:
        durable.replace_file(info, ID_NAME, str(dataset_id).encode())
        durable.replace_file(info, "alias", str(alias).encode())


def move(source: Path, target: Path) -> None:
    """Rename a dataset folder."""
    target.parent.mkdir(exist_ok=True)
    source.rename(target)
    for parent in {source.parent, target.parent, target.parent.parent}:
        _flush(parent)


def hide(root: Path, path: Path) -> Path:
    """Take a dataset from sight, its refs first; where it is now, to be removed."""
    for ref_file in sorted((path / REFS).glob("*"), key=lambda file: file.name != HEAD):
        ref_file.unlink()
    _flush(path / REFS)
    hidden = root / (_DELETED + secrets.token_hex(8))
    path.rename(hidden)
    _flush(path.parent)
    return hidden


def retire(root: Path, path: Path, alias: DatasetAlias, dataset_id: DatasetId) -> None:
    """Take a dataset from sight as it is."""
    write_identity(path, alias, dataset_id)
    path.rename(kept_place(root, dataset_id))
    for parent in {path.parent, root}:
        _flush(parent)


def restore(root: Path, path: Path, alias: DatasetAlias, dataset_id: DatasetId) -> None:
    """Bring it back, as the folder ``path``."""
    kept = kept_place(root, dataset_id)
    write_identity(kept, alias, dataset_id)
    move(kept, path)


def discard(root: Path, dataset_id: DatasetId) -> Path:
    """Give up a dataset that was taken from sight; where it is now, to be removed."""
    hidden = root / (_DELETED + secrets.token_hex(8))
    kept_place(root, dataset_id).rename(hidden)
    _flush(root)
    return hidden


def hide_unfinished(root: Path, path: Path) -> Path | None:
    """Take a dataset from sight that has no head; where it is now, or ``None`` if it has got one by now.

    Whoever sets a head holds the lock of the refs: it is set before this, or fails after it.
    """
    with durable.opened_folder(path, REFS) as refs, durable.locked(refs, f"{path.name}/{REFS}"):
        if (path / REFS / HEAD).exists():
            return None
        hidden = root / (_DELETED + secrets.token_hex(8))
        path.rename(hidden)
        shutil.rmtree(hidden / REFS)
    _flush(path.parent)
    return hidden


def remove(hidden: Path) -> None:
    """Remove a folder nobody sees. What cannot be removed now, the sweeper tries again."""
    shutil.rmtree(hidden, ignore_errors=True)


def hidden_folders(root: Path) -> list[Path]:
    """What interrupted changes left."""
    return [path for path in root.iterdir() if path.name.startswith(HIDDEN_PREFIXES)]


def last_change(path: Path) -> float:
    """When anything in a folder changed last, in seconds since 1970."""
    newest = path.stat().st_mtime
    for inner in path.rglob("*"):
        with suppress(FileNotFoundError):
            newest = max(newest, inner.stat(follow_symlinks=False).st_mtime)
    return newest


def _flush(path: Path) -> None:
    with durable.opened(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) as folder:
        os.fsync(folder)
