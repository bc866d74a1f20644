"""Which folders of a repository are datasets, and what they are called.

Three layouts are read, also mixed: a folder named by its DatasetId with the alias in ``info/alias`` (how servers of the
reference store), ``[account/]name`` (how its plain repositories are laid out), and a single dataset folder by itself.
Names that start with a dot and symbolic links are none of ours. Here is only looking; changing is in ``repository.py``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from opendatafabric.block_ref import HEAD
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId
from opendatafabric.errors import LimitExceeded, MalformedIdentifier, NotARepository, OdfError
from opendatafabric.limits import IDENTIFIER_CHARS_MAX
from opendatafabric.names import AccountName, DatasetName
from storage.local import durable

MARKER_NAME: Final = ".odf-repository"
"""A file in the root of a repository that says how new datasets are laid out; hidden from every other reader."""

ID_NAME: Final = ".dataset-id"
"""A file in ``info/`` with the id of a dataset that lies under its alias, for as long as it has no Seed."""

KEPT_PREFIX: Final = ".kept-"
"""Names of folders of datasets that were taken from sight and may come back."""

NAMELESS: Final = DatasetAlias(None, DatasetName("dataset"))
"""What a dataset is called whose name cannot be read."""


class RepositoryLayout(Enum):
    """Where a new dataset goes."""

    BY_ID = "by-id"
    BY_ALIAS = "by-alias"
    SINGLE = "single-dataset"


@dataclass(frozen=True, slots=True)
class DatasetFolder:
    """One dataset on disk; ``dataset_id`` is ``None`` where only its Seed tells."""

    path: Path
    alias: DatasetAlias
    dataset_id: DatasetId | None
    pending: bool
    """It has no head yet, so nobody but its creator may see it."""


@dataclass(frozen=True, slots=True)
class RetiredDataset:
    """A dataset that was taken from sight and lies there still; ``alias`` is what it was called."""

    id: DatasetId
    alias: DatasetAlias


def layout_of(path: Path) -> RepositoryLayout | None:
    """How the repository in ``path`` is laid out; ``None`` when there is none."""
    if not path.is_dir():
        return None
    if is_dataset_folder(path):
        return RepositoryLayout.SINGLE
    try:
        with durable.opened_folder(path) as folder:
            return RepositoryLayout(durable.read_file(folder, MARKER_NAME, size_max=100).decode().strip())
    except (OSError, ValueError, OdfError):
        pass  # no marker of ours: what lies there decides
    found = next(scan(path), None)
    if found is None:
        return None
    return RepositoryLayout.BY_ID if found.dataset_id is not None else RepositoryLayout.BY_ALIAS


def not_a_repository(path: Path) -> NotARepository:
    """What is said of ``path`` when it has no layout."""
    if (path / ".kamu").is_dir():
        hint = f"this is a workspace of kamu: open {path / '.kamu' / 'datasets'} or one dataset folder in it"
    elif path.is_dir():
        hint = "make one with: odf init DIR"
    else:
        hint = "there is no such folder; make a repository with: odf init DIR"
    return NotARepository(f"{path} is no repository and no dataset", hint=hint)


def is_dataset_folder(path: Path) -> bool:
    """Whether ``path`` is laid out as a dataset."""
    return all((path / name).is_dir() and not (path / name).is_symlink() for name in ("blocks", "refs"))


def scan(root: Path, *, by_alias: bool = True) -> Iterator[DatasetFolder]:
    """Every dataset folder under ``root``, pending ones included, in no order.

    Raises:
        StorageError: ``root`` cannot be listed.
    """
    for path in _folders_in(root):
        if is_dataset_folder(path):
            found = describe(root, path)
            if found is not None:
                yield found
        elif _account_name(path.name) is not None:
            inner = (describe(root, each) for each in _folders_in(path) if is_dataset_folder(each))
            yield from (found for found in inner if found is not None)


def describe(root: Path, path: Path) -> DatasetFolder | None:
    """The dataset folder ``path`` of the repository ``root``; ``None`` when it has no valid name or is gone."""
    if not is_dataset_folder(path):
        return None
    pending = not (path / "refs" / HEAD).is_file()
    dataset_id = id_in_name(path.name)
    if path == root:
        return DatasetFolder(path, _written_alias(path) or alias_of_path(root.parent, path), None, pending)
    if dataset_id is not None and path.parent == root:
        return DatasetFolder(path, _written_alias(path) or alias_of_path(root, path), dataset_id, pending)
    try:
        return DatasetFolder(path, alias_of_path(root, path, strict=True), _written_id(path), pending)
    except MalformedIdentifier:
        return None


def retired_in(root: Path) -> list[RetiredDataset]:
    """The datasets of ``root`` that were taken from sight."""
    names = [path.name.removeprefix(KEPT_PREFIX) for path in root.glob(f"{KEPT_PREFIX}*")]
    ids = [each for each in map(id_in_name, names) if each is not None]
    return [RetiredDataset(each, _written_alias(kept_place(root, each)) or NAMELESS) for each in ids]


def kept_place(root: Path, dataset_id: DatasetId) -> Path:
    """Where ``root`` keeps that dataset when it is taken from sight."""
    return root / f"{KEPT_PREFIX}{dataset_id.multibase}"


def alias_of_path(root: Path, path: Path, *, strict: bool = False) -> DatasetAlias:
    """The alias that the place of a folder says; ``strict`` refuses what is no name."""
    parts = path.relative_to(root).parts
    try:
        account = AccountName(parts[0]) if len(parts) > 1 else None
        return DatasetAlias(account, DatasetName(parts[-1]))
    except MalformedIdentifier:
        if strict:
            raise
        return NAMELESS


def id_in_name(name: str) -> DatasetId | None:
    """The DatasetId that is a folder's name, if it is one."""
    try:
        return DatasetId.from_multibase(name) if name.startswith("fed01") else None
    except MalformedIdentifier:
        return None


def _folders_in(path: Path) -> list[Path]:
    with durable.translated(f"list {path.name}/"), os.scandir(path) as entries:
        return [
            Path(entry.path)
            for entry in entries
            if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)
        ]


def _account_name(name: str) -> AccountName | None:
    try:
        return AccountName(name)
    except MalformedIdentifier:
        return None


def _written_alias(path: Path) -> DatasetAlias | None:
    text = _info_text(path, "alias")
    try:
        return None if text is None else DatasetAlias.from_text(text)
    except MalformedIdentifier:
        return None


def _written_id(path: Path) -> DatasetId | None:
    text = _info_text(path, ID_NAME)
    try:
        return None if text is None else DatasetId.from_text(text)
    except MalformedIdentifier:
        return None


def _info_text(path: Path, name: str) -> str | None:
    try:
        with durable.opened_folder(path, "info") as folder:
            return durable.read_file(folder, name, size_max=IDENTIFIER_CHARS_MAX).decode()
    except (OSError, LimitExceeded, UnicodeDecodeError, OdfError):
        return None
