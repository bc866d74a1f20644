"""Datasets that were taken from sight: what every repository says of them, and how folders of them are given up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId
from opendatafabric.errors import DatasetNotFound, NameCollision, RefCollision
from storage import folder_changes
from storage.folders import DatasetFolder, kept_place


def was_deleted(dataset_id: DatasetId) -> RefCollision:
    """The id belongs to a dataset that may still come back."""
    return RefCollision(
        f"dataset {dataset_id} was deleted here and is kept for a while",
        found=dataset_id,
        hint="undelete it, or delete it for good",
    )


def not_retired(dataset_id: DatasetId) -> DatasetNotFound:
    """There is nothing to bring back."""
    return DatasetNotFound(f"no deleted dataset {dataset_id} is kept here", hint="odf undelete lists those that are")


def require_retired(root: Path, dataset_id: DatasetId) -> None:
    """Return if the folder of that dataset is kept in ``root``; ``DatasetNotFound`` when it is not."""
    if not kept_place(root, dataset_id).exists():
        raise not_retired(dataset_id)


def discard(root: Path, dataset_id: DatasetId) -> None:
    """Remove the folder of a dataset that is kept; errors as ``require_retired``."""
    with folder_changes.locked(root):
        require_retired(root, dataset_id)
        hidden = folder_changes.discard(root, dataset_id)
    folder_changes.remove(hidden)


def require_free(
    found: Iterable[DatasetFolder], ids: Mapping[Path, DatasetId], alias: DatasetAlias, dataset_id: DatasetId
) -> None:
    """Return if none of the folders has that id or name.

    Raises:
        RefCollision, NameCollision: as they say.
    """
    for each in found:
        if id_of(each, ids) == dataset_id:
            raise RefCollision(f"dataset {dataset_id} exists already", found=dataset_id)
        if each.alias == alias:
            raise NameCollision(f"the name {alias} is taken by another dataset", found=alias)


def id_of(folder: DatasetFolder, ids: Mapping[Path, DatasetId]) -> DatasetId | None:
    """The id of a folder, from its name or from those that were read from its Seed."""
    return folder.dataset_id or ids.get(folder.path)
