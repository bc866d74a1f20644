"""In which order datasets are brought up to date: inputs before what is derived from them, each once."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from opendatafabric.did import DatasetId
from opendatafabric.errors import DatasetNotFound
from pipeline.inputs import input_ids
from storage.repositories import DatasetRepository
from storage.repository import DatasetEntry


async def inputs_first(repository: DatasetRepository, wanted: Iterable[DatasetEntry]) -> list[DatasetEntry]:
    """``wanted`` and, before each, its inputs and theirs, as far as they lie in the repository.

    Of datasets that are inputs of each other the one comes first that is found last.
    """
    ordered: list[DatasetEntry] = []
    begun: set[DatasetId] = set()
    waiting = [(entry, False) for entry in reversed(list(wanted))]
    while waiting:
        entry, inputs_are_done = waiting.pop()
        if inputs_are_done:
            ordered.append(entry)
        elif entry.id not in begun:
            begun.add(entry.id)
            waiting.append((entry, True))
            waiting += [(each, False) for each in reversed(await _inputs(repository, entry))]
    return ordered


async def _inputs(repository: DatasetRepository, entry: DatasetEntry) -> list[DatasetEntry]:
    """Those that are here."""
    found: list[DatasetEntry] = []
    for dataset_id in await input_ids(entry.dataset):
        with suppress(DatasetNotFound):
            found.append(await repository.find(dataset_id))
    return found
