"""The newest records of datasets for their pages, as texts: read once for each head, and kept for whoever looks next.

Records of strangers are read in a process of its own, which takes longer than a page may: who looks first waits a
little, and sees the page without records if that is not enough.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from opendatafabric.did import DatasetId
from opendatafabric.errors import OdfError
from opendatafabric.multihash import Multihash
from repo_server.logs import SERVER
from repo_server.query.looks import Looks
from storage.dataset import Dataset

_PATIENCE_S: Final = 1.5
_KEPT_MAX: Final = 256
_COLUMNS_MAX: Final = 40
_CELL_CHARS_MAX: Final = 200

_Key = tuple[DatasetId, Multihash]


@dataclass(frozen=True, slots=True)
class Preview:
    """Names of columns, and rows of texts, oldest first."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


class Previews:
    """``records`` is how many are shown; none are read where that is 0."""

    def __init__(self, looks: Looks, *, records: int, patience_s: float = _PATIENCE_S) -> None:
        self._looks = looks
        self._records = records
        self._patience_s = patience_s
        self._kept: OrderedDict[_Key, Preview | None] = OrderedDict()
        self._running: dict[_Key, asyncio.Task[None]] = {}

    async def of(self, dataset_id: DatasetId, dataset: Dataset, head: Multihash) -> Preview | None:
        """The newest records up to ``head``; ``None`` where they cannot be shown, or not yet."""
        key = (dataset_id, head)
        if not self._records:
            return None
        if key not in self._kept:
            task = self._running.get(key) or self._begin(key, dataset)
            await asyncio.wait({task}, timeout=self._patience_s)
        return self._kept.get(key)

    async def settle(self) -> None:
        """End what is being read."""
        for task in self._running.values():
            task.cancel()
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    def _begin(self, key: _Key, dataset: Dataset) -> asyncio.Task[None]:
        task = asyncio.create_task(self._read(key, dataset))
        self._running[key] = task
        task.add_done_callback(lambda _: self._running.pop(key, None))
        return task

    async def _read(self, key: _Key, dataset: Dataset) -> None:
        try:
            self._kept[key] = _shortened(await self._looks.preview(key[0], dataset, self._records))
        except OdfError as error:
            SERVER.info("no preview of %s: %s", key[0], error)
            if error.retryable:
                return
            self._kept[key] = None
        while len(self._kept) > _KEPT_MAX:
            self._kept.popitem(last=False)


def _shortened(found: dict[str, Any]) -> Preview:
    columns = [str(each["name"]) for each in found["schema"]["fields"]][:_COLUMNS_MAX]
    return Preview(columns, [[_text(cell) for cell in row[:_COLUMNS_MAX]] for row in found["data"]])


def _text(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return text if len(text) <= _CELL_CHARS_MAX else f"{text[:_CELL_CHARS_MAX]}…"
