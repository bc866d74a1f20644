"""Looks at the newest records of a dataset: ``tail``, and the preview on its page."""

from __future__ import annotations

from typing import Any, Final

import orjson

from pipeline.query.answer_form import AnswerForm, JsonShape, SchemaFormat
from pipeline.query.request import RecordsWanted
from repo_server.query.running import Queries
from storage.dataset import Dataset
from storage.records.moment import KnownRecords

_PREVIEW: Final = AnswerForm(JsonShape.AOA, SchemaFormat.ODF_JSON)


async def newest_records(queries: Queries, dataset: Dataset, *, skip: int, limit: int, form: AnswerForm) -> bytes:
    """The newest ``limit`` records but ``skip``, ascending, as JSON: ``data``, ``dataFormat`` and maybe the schema.

    Raises:
        RefNotFound: the dataset has no head.
        LimitExceeded, MalformedData, EngineUnavailable and others: as ``Queries.records``.
    """
    known = await queries.known(dataset)
    async with queries.records(dataset, known, _newest(known, skip, limit), form) as answer:
        return answer.read()


async def preview(queries: Queries, dataset: Dataset, rows: int) -> dict[str, Any]:
    """The newest ``rows`` records for a page: ``data`` is a list of lists, ``schema`` names the columns in its
    ``fields``; errors as ``newest_records``."""
    found = await newest_records(queries, dataset, skip=0, limit=rows, form=_PREVIEW)
    plain: dict[str, Any] = orjson.loads(found)
    return plain


def _newest(known: KnownRecords, skip: int, limit: int) -> RecordsWanted:
    end = known.slices[-1].offset_interval.end if known.slices else -1
    return RecordsWanted(max(0, end - skip - limit + 1), end - skip)
