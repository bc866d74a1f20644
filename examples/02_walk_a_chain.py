"""A dataset is a chain of blocks: walk it from the head to the seed and count the records.

Run it: python examples/02_walk_a_chain.py
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from opendatafabric.metadata.events import AddData
from storage.open import open_dataset

DATASET = Path(__file__).parent / "datasets" / "us.noaa.seattle-weather"


async def main() -> None:
    dataset = open_dataset(str(DATASET))
    head = await dataset.head()
    assert head is not None
    records = 0
    async for blocks in dataset.walk(head):
        for block in blocks:
            print(block.sequence_number, type(block.event).__name__)
            if isinstance(block.event, AddData) and block.event.new_data is not None:
                interval = block.event.new_data.offset_interval
                records += interval.end - interval.start + 1
    print(f"{records} records")


asyncio.run(main())
