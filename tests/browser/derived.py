"""Datasets that are made of the examples, for a lineage that is worth a look: one fails, one reads what is not here."""

from __future__ import annotations

from catalog.reports import KeptReport
from opendatafabric.metadata.events import DatasetKind, SetTransform
from opendatafabric.metadata.transform import TransformInput
from opendatafabric.multihash import physical_hash
from storage.repository import DatasetEntry
from tests.pipeline.transform.derived import query_over
from tests.repo_server.hosted import Hosted
from tests.storage.chains import ChainBuilder, dataset_id


async def add_derived(server: Hosted, weather: DatasetEntry, fahrenheit: DatasetEntry) -> list[DatasetEntry]:
    """Two derivatives of ``fahrenheit``, and one of one of these and ``weather``."""
    abroad = TransformInput(dataset_id(999), "net.example.stations")
    hottest = await _add(server, "seattle-weather.hottest-days", 701, TransformInput(fahrenheit.id, "fahrenheit"))
    stations = await _add(server, "seattle-weather.stations", 702, TransformInput(fahrenheit.id, "fahrenheit"), abroad)
    both = TransformInput(hottest.id, "hottest"), TransformInput(weather.id, "weather")
    report = await _add(server, "seattle-weather.report", 703, *both)
    await verdict(server, fahrenheit, "valid", 1.0)
    await verdict(server, hottest, "invalid", 1.0)
    return [hottest, stations, report]


async def verdict(server: Hosted, entry: DatasetEntry, text: str, at: float) -> None:
    """What a verification found."""
    name = physical_hash(f"{entry.id} {at}".encode())
    head = await entry.dataset.head()
    await server.catalog.reports.add(KeptReport(entry.id, name, head, text, replayed=True, ended_at=at))


async def _add(server: Hosted, name: str, number: int, *inputs: TransformInput) -> DatasetEntry:
    chain = ChainBuilder(dataset_id(number), DatasetKind.DERIVATIVE)
    chain.add(SetTransform(inputs, query_over("select 1").transform))
    return await server.add(name, chain)
