"""Polls to the end with an engine that needs no JVM."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from opendatafabric.codec.block_codec import encode_block
from opendatafabric.layout import data_key
from opendatafabric.metadata.block import MetadataBlock
from opendatafabric.metadata.events import AddData, SetPollingSource
from opendatafabric.metadata.slices import SourceState
from opendatafabric.metadata.sources import FetchStep, MergeStrategyAppend, PrepStep, ReadStep
from opendatafabric.multihash import Multihash
from pipeline.commit import Outcome, position_of
from pipeline.fetch import FetchOptions
from pipeline.poll import poll
from storage.dataset import Dataset
from tests.pipeline.datasets import blocks_of, day, new_dataset
from tests.pipeline.local_engine import LocalEngine


class KilledError(Exception):
    """What a test raises in the place of the end of the process."""


class MortalEngine(LocalEngine):
    """Dies at its next job when ``doomed``."""

    doomed = False

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """As the engine, if it lives."""
        if self.doomed:
            raise KilledError
        return await super().run(job, arguments)


@dataclass
class Poller:
    """A dataset with a polling source, and what polls it."""

    dataset: Dataset
    engine: MortalEngine
    options: FetchOptions = field(default_factory=FetchOptions)

    async def poll(self, *, fetch_uncacheable: bool = False, **options: Any) -> list[Outcome]:
        """The outcomes of one poll, on the 31st."""
        asked = replace(self.options, **options)
        polled = poll(
            self.dataset, self.engine, clock=lambda: day(31), options=asked, fetch_uncacheable=fetch_uncacheable
        )
        return [outcome async for outcome in polled]

    async def die_in_the_middle(self) -> None:
        """Poll, and be killed when the source has given and nothing is committed."""
        self.engine.doomed = True
        try:
            await self.poll()
        except KilledError:
            return
        finally:
            self.engine.doomed = False
        raise AssertionError("the source gave nothing")

    async def set_source(self, fetch: FetchStep, read: ReadStep) -> None:
        """Another one from now on."""
        position = await position_of(self.dataset)
        event = SetPollingSource(fetch, None, read, None, MergeStrategyAppend())
        block = MetadataBlock(day(31), position.head, position.state.sequence_number + 1, event)
        await self.dataset.append([encode_block(block)], expected_head=position.head)

    async def head(self) -> Multihash | None:
        """Of the dataset."""
        return await self.dataset.head()

    async def additions(self) -> list[AddData]:
        """Oldest first."""
        return [block.event for block in await blocks_of(self.dataset) if isinstance(block.event, AddData)]

    async def state(self) -> SourceState | None:
        """Where the source left off, as the last block has it."""
        return (await self.additions())[-1].new_source_state

    async def records(self, *columns: str) -> list[tuple[Any, ...]]:
        """Of all slices, in their order."""
        rows: list[tuple[Any, ...]] = []
        for added in await self.additions():
            if added.new_data is not None:
                data = await self.dataset.objects.read(data_key(added.new_data.physical_hash))
                rows += [tuple(row[name] for name in columns) for row in pq.read_table(BytesIO(data)).to_pylist()]
        return rows


async def poller(folder: Path, fetch: FetchStep, read: ReadStep, *prepare: PrepStep) -> Poller:
    """A dataset that appends what the source gives."""
    source = SetPollingSource(fetch, prepare or None, read, None, MergeStrategyAppend())
    return Poller(await new_dataset(source), MortalEngine(folder / "engine"))
