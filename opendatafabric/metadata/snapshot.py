"""The description of a dataset that people write: its name, its kind and its first events (spec: DatasetSnapshot)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.metadata.events import DatasetKind, MetadataEvent
from opendatafabric.metadata.wire_types import Wrapped


@dataclass(frozen=True, slots=True)
class DatasetSnapshot:
    """Only read here; which events suit which kind is decided when a dataset is made of it."""

    name: DatasetAlias
    kind: DatasetKind
    metadata: Annotated[tuple[MetadataEvent, ...], Wrapped()]
