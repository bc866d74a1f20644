"""Which blocks make up what a chain establishes, noted for its head: a long chain need not be read for every ingest.

A block of data is of no account once there is a later one of its kind; all others are few. Their hashes lie in the
place of the worker, sealed against damage, and may be deleted at any time; each block is checked when it is read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from opendatafabric.chain.state import ChainState
from opendatafabric.errors import NotFound
from opendatafabric.limits import KNOWN_CHAINS_BYTES_MAX
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import AddData, ExecuteTransform
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset
from storage.local.derived import LocalDerivedStore

_WORTH_NOTING_BLOCKS: Final = 64
"""A shorter chain is read as quickly as a note of it."""


class KnownChains:
    """The notes in ``folder``, which any number of processes share."""

    def __init__(self, folder: Path) -> None:
        self._notes = LocalDerivedStore(folder, bytes_max=KNOWN_CHAINS_BYTES_MAX)

    async def recall(self, dataset: Dataset) -> None:
        """Tell the dataset what the chain up to its head establishes, if that was noted."""
        head = await dataset.head()
        noted = [] if head is None else await self._noted(head)
        state = ChainState.empty()
        try:
            async for blocks in dataset.read_blocks(noted):
                for block in blocks:
                    state = state.apply(block)
        except NotFound:
            return
        if noted and state.head == head:
            dataset.remember(state)

    async def note(self, dataset: Dataset, head: Multihash, state: ChainState) -> None:
        """Note what matters of the chain up to ``head``, which continues the one of ``state``."""
        if state.head is None or state.sequence_number < _WORTH_NOTING_BLOCKS:
            return
        earlier = await self._noted(state.head)
        noting = _Noting()
        async for blocks in dataset.walk(head, stop_before=state.head if earlier else None):
            noting.add(blocks)
        async for blocks in dataset.read_blocks(earlier[::-1]):
            noting.add(blocks)
        await self._notes.keep(str(head), "\n".join(map(str, noting.hashes[::-1])).encode())

    async def _noted(self, head: Multihash) -> list[Multihash]:
        found = await self._notes.read(str(head))
        return [] if found is None else [Multihash.from_text(line) for line in found.decode().splitlines()]


class _Noting:
    """Hashes of the blocks that matter, the newest first."""

    def __init__(self) -> None:
        self.hashes: list[Multihash] = []
        self._data: set[type] = set()

    def add(self, blocks: list[HashedBlock]) -> None:
        for block in blocks:
            kind = type(block.event)
            if kind not in self._data:
                self.hashes.append(block.hash)
            if kind in (AddData, ExecuteTransform):
                self._data.add(kind)
