"""The answer of a poll, and what the operator allows one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from opendatafabric.instant import Instant
from opendatafabric.metadata.slices import SourceState

SOURCE_NAME = "default"
"""What the reference calls the one polling source of a dataset."""
ETAG = "odf/etag"
LAST_MODIFIED = "odf/last-modified"


@dataclass(frozen=True, slots=True)
class Fetched:
    """``event_time`` is what the source says of its records' time; with ``has_more`` another poll finds more."""

    file: Path
    state: SourceState | None
    event_time: Instant | None = None
    has_more: bool = False


@dataclass(frozen=True, slots=True)
class FetchOptions:
    """``variables`` are those that templates ``${{ env.NAME }}`` may name.

    ``private_places`` opens files of this machine and addresses that not everybody reaches: for sources of one's own.
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    private_places: bool = True


def state_of(kind: str, value: str) -> SourceState:
    """Where the source left off."""
    return SourceState(SOURCE_NAME, kind, value)
