"""What ``info/alias`` of a dataset in a bucket can say: its name, that it is kept out of sight, that it is going."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import MalformedIdentifier
from storage.s3.cells import Cell

LEAVING: Final = b"~"
"""The dataset is being deleted; no dataset is called so. Before an alias: it is kept out of sight."""


def alias_in(cell: Cell) -> DatasetAlias | None:
    """The name of a dataset that is in sight."""
    try:
        return None if cell.value is None else DatasetAlias.from_text(cell.value.decode())
    except (MalformedIdentifier, UnicodeDecodeError):
        return None


def kept_alias_in(cell: Cell) -> DatasetAlias | None:
    """The name that a dataset had which is kept out of sight."""
    if cell.value is None or not cell.value.startswith(LEAVING):
        return None
    return alias_in(replace(cell, value=cell.value.removeprefix(LEAVING)))


def kept_record(alias: DatasetAlias) -> bytes:
    """What is written of a dataset that is taken from sight."""
    return LEAVING + str(alias).encode()
