"""The answer of a poll, and what the operator allows one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from opendatafabric.instant import Instant
from opendatafabric.metadata.slices import SourceState
from storage.progress import Progress, silent

SOURCE_NAME = "default"
"""What the reference calls the one polling source of a dataset."""
ETAG = "odf/etag"
LAST_MODIFIED = "odf/last-modified"


class Receipt(Protocol):
    """What a source wants to hear of its records, for as long as it waits."""

    async def confirm(self) -> None:
        """The records are in the dataset: the source may forget them."""
        ...

    async def close(self) -> None:
        """The source need not wait any longer; what was not confirmed it will give again."""
        ...


@dataclass(frozen=True, slots=True)
class Fetched:
    """``event_time`` is what the source says of its records' time; with ``has_more`` another poll finds more.

    ``name`` is that of one file of many.
    """

    file: Path
    state: SourceState | None
    event_time: Instant | None = None
    has_more: bool = False
    receipt: Receipt | None = None
    name: str | None = None

    async def confirm(self) -> None:
        """Tell the source, if it wants to hear of it, that the records are in the dataset."""
        if self.receipt is not None:
            await self.receipt.confirm()

    async def aclose(self) -> None:
        """Let go of the source."""
        if self.receipt is not None:
            await self.receipt.close()


@dataclass(frozen=True, slots=True)
class FetchOptions:
    """``variables`` are those that templates ``${{ env.NAME }}`` may name, ``dataset`` is the id of who asks, and
    ``progress`` hears of every piece, from any thread.

    ``ethereum_nodes`` are asked about chains whose source names no node, and not for their last
    ``ethereum_confirmations`` blocks, which may change.
    ``container_runtime`` is the program that runs containers, unless it is the usual one; ``pipes`` lets commands of
    sources run, walled in.
    ``private_places`` opens files of this machine and addresses that not everybody reaches: for sources of one's own.
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    dataset: str = "unknown"
    private_places: bool = True
    progress: Progress = silent
    ethereum_nodes: Mapping[int, str] = field(default_factory=dict)
    ethereum_confirmations: int = 0
    container_runtime: str | None = None
    pipes: bool = False


def state_of(kind: str, value: str) -> SourceState:
    """Where the source left off."""
    return SourceState(SOURCE_NAME, kind, value)
