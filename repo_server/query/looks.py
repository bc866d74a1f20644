"""Looks at a dataset: ``tail``, the preview on its page, and ``metadata``."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import orjson

from opendatafabric.did import DatasetId
from pipeline.query.answer_form import AnswerForm, JsonShape, SchemaFormat
from pipeline.query.request import RecordsWanted
from repo_server.query.indexed import IndexedRecords, newest_wanted
from repo_server.query.running import Queries
from storage.dataset import Dataset
from storage.records.moment import KnownRecords

_PREVIEW: Final = AnswerForm(JsonShape.AOA, SchemaFormat.ODF_JSON)


class Looks:
    """``indexed`` knows where records lie; where it is not there, or does not know, the chain is walked."""

    def __init__(self, queries: Queries, indexed: IndexedRecords | None = None) -> None:
        self._queries, self._indexed = queries, indexed

    async def newest(
        self, dataset_id: DatasetId, dataset: Dataset, *, skip: int, limit: int, form: AnswerForm
    ) -> bytes:
        """The newest ``limit`` records but ``skip``, ascending, as JSON: ``data``, ``dataFormat`` and maybe the schema.

        Raises:
            RefNotFound: the dataset has no head.
            LimitExceeded, MalformedData, EngineUnavailable and others: as ``Queries.records``.
        """
        known, wanted = await self._found(dataset_id, dataset, skip, limit)
        async with self._queries.records(dataset, known, wanted, form) as answer:
            return await asyncio.to_thread(answer.read)

    async def preview(self, dataset_id: DatasetId, dataset: Dataset, rows: int) -> dict[str, Any]:
        """The newest ``rows`` records for a page: ``data`` is a list of lists, ``schema`` names the columns in its
        ``fields``; errors as in ``newest``."""
        plain: dict[str, Any] = orjson.loads(await self.newest(dataset_id, dataset, skip=0, limit=rows, form=_PREVIEW))
        return plain

    async def said(self, dataset_id: DatasetId, dataset: Dataset) -> KnownRecords:
        """What the chain says last; its slices are not looked for.

        Raises:
            RefNotFound: the dataset has no head.
        """
        found = None if self._indexed is None else await self._indexed.said(dataset_id, dataset)
        return found or await self._queries.known(dataset)

    async def _found(
        self, dataset_id: DatasetId, dataset: Dataset, skip: int, limit: int
    ) -> tuple[KnownRecords, RecordsWanted]:
        if self._indexed is not None:
            found = await self._indexed.newest(dataset_id, dataset, skip=skip, limit=limit)
            if found is not None:
                return found
        known = await self._queries.known(dataset)
        count = known.slices[-1].offset_interval.end + 1 if known.slices else 0
        return known, newest_wanted(count, skip, limit)
