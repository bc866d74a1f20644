"""What requests ask of stores, for the metrics: the datasets of a server over measured stores.

Jobs in the background go to the stores themselves, and so do files that the kernel sends.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from storage.protocols import ObjectReader, ObjectStore, RefStore
from storage.repository import DatasetEntry
from storage.wrappers.measured import MeasuredObjectStore, MeasuredRefStore, StoreMetrics


def measured(entry: DatasetEntry, metrics: StoreMetrics) -> DatasetEntry:
    """The dataset over measured stores."""
    dataset = entry.dataset
    stores = measured_stores(dataset.objects, dataset.refs, metrics, "s3" if entry.path is None else "folder")
    return replace(entry, dataset=dataset.over(*stores))


def measured_stores(
    objects: ObjectReader, refs: RefStore, metrics: StoreMetrics, name: str
) -> tuple[ObjectReader, RefStore]:
    """Stores that are measured under ``name``; those that can only be read are asked for nothing else."""
    return MeasuredObjectStore(cast(ObjectStore, objects), metrics, name), MeasuredRefStore(refs, metrics, name)
