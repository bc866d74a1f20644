"""A catalogue of two small datasets, and queries over it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from opendatafabric.errors import DatasetNotFound
from opendatafabric.metadata.sources import MergeStrategyAppend
from pipeline.query.prepare import Asked, Catalogue, prepare_query
from pipeline.query.process import running_query
from pipeline.query.request import QueryLimits, QueryRequest
from pipeline.query.starting import Start, spawned
from storage.dataset import Dataset
from storage.local.objects import LocalObjectStore
from tests.pipeline.reading.histories import A, source, with_past

NOW = Asked()
LARGE: dict[int, Any] = {4: [(A, 1, "kyiv", 30), (A, 2, "lviv", 20)]}


async def two_datasets(folder: Path) -> Catalogue:
    """``cities`` with a past, in files, and ``alice/regions`` without retractions, in memory."""
    (folder / "store").mkdir()
    datasets: dict[str, Dataset] = {
        "cities": await with_past(folder, source(), objects=LocalObjectStore(folder / "store")),
        "alice/regions": await with_past(folder, source(MergeStrategyAppend()), past=LARGE),
    }

    async def catalogue(name: str) -> Dataset:
        if name not in datasets:
            raise DatasetNotFound(f"no {name}", hint="cities and alice/regions")
        return datasets[name]

    return catalogue


async def prepared(sql: str, folder: Path, asked: Asked = NOW, **limits: Any) -> QueryRequest:
    """The query over the two datasets."""
    (folder / "placed").mkdir()
    return await prepare_query(sql, await two_datasets(folder), folder / "placed", asked, limits=QueryLimits(**limits))


def rows(request: QueryRequest, start: Start = spawned) -> list[tuple[Any, ...]]:
    """What the query gives, run to its end."""
    with running_query(request, start) as records:
        return [tuple(row.values()) for batch in records for row in batch.to_pylist()]
