"""Datasets that the reference made, with their records, on a server."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from catalog.datasets import DatasetRecord
from catalog.visibility import Visibility
from opendatafabric.chain.objects import objects_of
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.limits import OBJECT_BYTES_MAX
from storage.repository import DatasetEntry, Repository
from tests.repo_server.hosted import Hosted

RECORDED: Final = Path(__file__).parents[1] / "vectors" / "datasets"
WEATHER, FAHRENHEIT = "us.noaa.seattle-weather", "seattle-weather.fahrenheit"
"""A root with two slices, and a derivative of it."""

AIRPORTS, STOCKS = "us.faa.airports", "com.yahoo.stocks.monthly"
"""Roots with corrections and retractions, and with a push source and one slice."""


async def add_recorded(
    server: Hosted, recorded: str, *, name: str | None = None, visibility: Visibility = Visibility.PUBLIC
) -> DatasetEntry:
    """A dataset of alice's that is ``recorded`` byte for byte, if wanted under another name."""
    found = await Repository.open(RECORDED).find(DatasetAlias.from_text(recorded))
    head = await found.dataset.head()
    assert head is not None
    blocks = [block async for batch in found.dataset.walk(head) for block in batch][::-1]
    entry = await server.repository.create(server.alias(name or recorded), found.id)
    await server.catalog.datasets.put(DatasetRecord(found.id, entry.alias, server.accounts["alice"].id, visibility))
    for key in [f"{each.kind.value}/{each.physical_hash}" for block in blocks for each in objects_of(block)]:
        await entry.dataset.writable_objects().put(
            key, await found.dataset.objects.read(key, size_max=OBJECT_BYTES_MAX)
        )
    await entry.dataset.append(blocks, expected_head=None)
    return entry
