"""Where the datasets of a repository lie, damaged ones too: for those who look for damage."""

from __future__ import annotations

from dataclasses import dataclass

from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId
from storage.dataset import Dataset


@dataclass(frozen=True, slots=True)
class DatasetPlace:
    """A dataset in whatever state. ``name`` is that of its folder, ``address`` opens it alone.

    ``dataset_id`` is ``None`` where only its Seed tells; ``pending`` ones have no head yet.
    """

    name: str
    address: str
    alias: DatasetAlias
    dataset_id: DatasetId | None
    pending: bool
    dataset: Dataset
