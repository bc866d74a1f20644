"""Datasets found for whoever looks: what a caller may not see is not found, and not counted either."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from catalog.dataset_filters import Filters
from catalog.dataset_lists import ListedDataset
from catalog.dataset_order import Order
from repo_server.identity import Caller
from repo_server.services import Services

FOUND_MAX: Final = 100
"""What is told at once, as clients of the reference ask for."""


async def datasets_with(services: Services, caller: Caller, words: str, count: int) -> Sequence[ListedDataset]:
    """The datasets that hold the words, the best first, as many as ``count``."""
    return await services.catalog.dataset_lists.list(
        caller.reader, filters=Filters(words=words), order=Order.RELEVANCE, count=min(count, FOUND_MAX)
    )
