"""Datasets found by their names, for whoever looks: what a caller may not see is not found, and not counted either."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from catalog.datasets import DatasetRecord
from catalog.facts_of_blocks import Facts
from catalog.permissions import Access
from repo_server.directory import Hosted
from repo_server.gate import access_of
from repo_server.identity import Caller
from repo_server.services import Services

FOUND_MAX: Final = 100
"""What is told at once, as clients of the reference ask for."""

_LOOKED_AT_MAX: Final = 2_000
"""Datasets whose permissions are looked at for one search: it ends in bounded time, however many are hidden."""


@dataclass(frozen=True, slots=True)
class Found:
    """A dataset, and what its chain says of it."""

    hosted: Hosted
    facts: Facts


async def datasets_called(services: Services, caller: Caller, text: str, count: int = FOUND_MAX) -> Sequence[Found]:
    """The datasets with ``text`` in their names that ``caller`` may see, by name, as many as ``count``."""
    records = await services.catalog.datasets.called_like(text, count=_LOOKED_AT_MAX)
    seen: list[Hosted] = []
    for record in records:
        hosted = await _visible(services, caller, record)
        if hosted is not None:
            seen.append(hosted)
        if len(seen) >= min(count, FOUND_MAX):
            break
    facts = await services.catalog.dataset_facts.of_all([each.entry.id for each in seen])
    return [Found(each, facts.get(each.entry.id, Facts())) for each in seen]


async def _visible(services: Services, caller: Caller, record: DatasetRecord) -> Hosted | None:
    hosted = await services.directory.find(record.id)
    if hosted is None or hosted.entry.pending:
        return None
    return hosted if await access_of(services, hosted, caller) >= Access.READ else None
