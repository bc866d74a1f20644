"""Queries and looks at records, run for callers in processes of their own with the limits of the settings."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Final

from opendatafabric.errors import EngineUnavailable
from pipeline.query.answer_form import AnswerForm
from pipeline.query.prepare import Asked, Catalogue, Sources, prepare_query, prepare_records
from pipeline.query.request import QueryLimits, QueryRequest, RecordsWanted
from pipeline.query.waiting import QueryProcesses
from repo_server.config import Settings
from storage.dataset import Dataset
from storage.records.moment import NOW, KnownHeads, KnownRecords, Moment, known_records
from storage.records.slice_files import Placing
from storage.records.state import CHANGELOG, Wanted

_LOOKS_AT_ONCE: Final = 4
"""They take a fraction of a second each, so they wait for each other and not for queries."""
_PREFIX: Final = "query-"
_LEFT_S: Final = 86_400


class Queries:
    """What this process computes for those who ask."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._processes = QueryProcesses(settings.query_path, count=settings.query_processes)
        self._running, self._waiting = asyncio.Semaphore(settings.queries_at_once), 0
        self._looks = asyncio.Semaphore(_LOOKS_AT_ONCE)
        self._downloads = asyncio.Semaphore(settings.downloads_at_once)
        self._sources = Sources(KnownHeads(), Placing(trusted=True, fetch_bytes_max=settings.query_fetch_bytes_max))

    async def known(self, dataset: Dataset, moment: Moment = NOW) -> KnownRecords:
        """What of a dataset counts; errors as ``known_records``."""
        return await known_records(dataset, moment, self._sources.heads)

    @asynccontextmanager
    async def prepared(self, sql: str, catalogue: Catalogue, asked: Asked) -> AsyncIterator[QueryRequest]:
        """The query, ready to run inside; errors as ``prepare_query``.

        Raises:
            EngineUnavailable: as many queries run and wait as may.
        """
        if self._waiting >= self._settings.queries_at_once:
            raise EngineUnavailable("too many queries at once", hint="try again after a while")
        self._waiting += 1
        try:
            await self._running.acquire()
        finally:
            self._waiting -= 1
        try:
            async with self._folder() as folder:
                yield await prepare_query(sql, catalogue, folder, asked, limits=self._limits(), sources=self._sources)
        finally:
            self._running.release()

    @asynccontextmanager
    async def answered(self, request: QueryRequest) -> AsyncIterator[BinaryIO]:
        """The answer as a nameless file; errors as ``QueryProcess.wait``."""
        async with self._processes.answered(request) as answer:
            yield answer

    @asynccontextmanager
    async def records(
        self,
        dataset: Dataset,
        known: KnownRecords,
        records: RecordsWanted,
        form: AnswerForm,
        *,
        wanted: Wanted = CHANGELOG,
        whole: bool = False,
    ) -> AsyncIterator[BinaryIO]:
        """Those records as a nameless file, with ``whole`` as long as downloads may be.

        Raises:
            LimitExceeded, MalformedData and others: as ``prepare_records`` and ``QueryProcess.wait``.
        """
        async with self._downloads if whole else self._looks, self._folder() as folder:
            request = await prepare_records(
                dataset, known, folder, records, wanted=wanted, placing=self._sources.placing
            )
            limits = self._download_limits() if whole else self._limits()
            async with self._processes.answered(replace(request, form=form, limits=limits)) as answer:
                yield answer

    async def sweep(self, *, now: float) -> None:
        """Remove what queries left whose server was killed."""
        await asyncio.to_thread(self._sweep, now - _LEFT_S)

    async def close(self) -> None:
        """End the processes that wait."""
        await asyncio.to_thread(self._processes.close)

    def _limits(self) -> QueryLimits:
        settings = self._settings
        return QueryLimits(
            settings.query_memory_bytes_max,
            settings.query_s_max,
            foreign=not settings.query_unsandboxed,
            result_bytes=settings.query_answer_bytes_max,
        )

    def _download_limits(self) -> QueryLimits:
        settings = self._settings
        return replace(self._limits(), time_s=settings.download_s_max, result_bytes=settings.downloads_bytes_max)

    def _sweep(self, before: float) -> None:
        for folder in self._settings.query_path.glob(f"{_PREFIX}*"):
            with suppress(OSError):
                if folder.stat().st_mtime < before:
                    shutil.rmtree(folder)

    @asynccontextmanager
    async def _folder(self) -> AsyncIterator[Path]:
        made = await asyncio.to_thread(lambda: tempfile.mkdtemp(prefix=_PREFIX, dir=self._processes.folder))
        try:
            yield Path(made)
        finally:
            await asyncio.shield(asyncio.to_thread(shutil.rmtree, made, ignore_errors=True))
