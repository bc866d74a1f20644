"""Datasets of another repository, answered as if they lay here: fetched when they are asked for, proved, and kept.

What is here goes first, and what is there is never listed. Heads are asked for anew when they are older than the
settings allow; when nobody answers, the last ones that were heard count, and answers say so.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import aiohttp

from catalog.accounts import Account
from catalog.datasets import DatasetRecord
from catalog.visibility import Visibility
from opendatafabric.block_ref import HEAD
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId
from opendatafabric.errors import AccessDenied, AuthenticationRequired, MalformedInput
from repo_server.config import Settings
from repo_server.logs import SERVER
from repo_server.measuring import measured_stores
from storage.chain_states import ChainStates
from storage.dataset import Dataset
from storage.http.objects import HttpObjectReader
from storage.http.refs import HttpRefStore
from storage.ipfs.table import StoreTables
from storage.local.objects import LocalObjectStore
from storage.repository import DatasetEntry
from storage.wrappers.caching import ObjectCache
from storage.wrappers.measured import StoreMetrics
from storage.wrappers.pull_through import PullThroughReader
from storage.wrappers.remembering import RememberingRefStore, Told

DATASETS_MAX: Final = 10_000
"""So many names are known at once, also such as do not exist there; those asked for longest ago go first."""

_LEFT_OVER_S: Final = 86_400


@dataclass(slots=True)
class UpstreamDataset:
    """A dataset there, or the name of none; ``id`` once its seed was read."""

    refs: RememberingRefStore
    dataset: Dataset
    id: DatasetId | None = None

    async def told(self) -> Told:
        """The head, and how far it is to be believed."""
        return await self.refs.ask(HEAD)

    def headers(self, told: Told) -> dict[str, str]:
        """What an answer says of its age (RFC 9111 and 9211)."""
        age_s = self.refs.age_s(told)
        known = {} if age_s is None else {"Age": str(int(age_s))}
        left = "" if age_s is None else f"; ttl={int(self.refs.fresh_s - age_s)}"
        silent = "" if told.answered else "; detail=upstream-does-not-answer"
        return {**known, "Cache-Control": "no-cache", "Cache-Status": f"odf; hit{left}{silent}"}


class Upstream:
    """The repository at ``address``, whose datasets belong to ``owner`` here."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        settings: Settings,
        cache: ObjectCache,
        *,
        tables: StoreTables,
        owner: Account,
        metrics: StoreMetrics,
    ) -> None:
        self._metrics = metrics
        assert settings.upstream is not None
        token = settings.upstream_token
        self._session, self._settings, self._cache, self._tables, self._owner = session, settings, cache, tables, owner
        self._base = settings.upstream.removeprefix("odf+").rstrip("/")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token.get_secret_value()}"}
        self._visibility = Visibility.PUBLIC if token is None else settings.default_visibility
        self._states = ChainStates()
        self._known: OrderedDict[DatasetAlias, UpstreamDataset] = OrderedDict()
        self._answered = True

    async def find(self, alias: DatasetAlias) -> tuple[DatasetEntry, DatasetRecord, UpstreamDataset] | None:
        """The dataset of that name; ``None`` when there is none, or none for us.

        Raises:
            TransientStorageError: nobody answers there, and nothing was heard of it before.
        """
        known = self._dataset(alias)
        try:
            told = await known.told()
        except (AuthenticationRequired, AccessDenied):
            return None
        self._note(told.answered)
        if told.head is None:
            return None
        if known.id is None:
            known.id = (await known.dataset.seed()).dataset_id
        entry = DatasetEntry(known.id, alias, known.dataset, None)
        return entry, DatasetRecord(known.id, alias, self._owner.id, self._visibility), known

    def _dataset(self, alias: DatasetAlias) -> UpstreamDataset:
        if alias not in self._known:
            self._known[alias] = self._new(f"{self._base}/{alias}")
            while len(self._known) > DATASETS_MAX:
                self._known.popitem(last=False)
        self._known.move_to_end(alias)
        return self._known[alias]

    def _new(self, address: str) -> UpstreamDataset:
        there, head_there = measured_stores(
            HttpObjectReader(self._session, address, self._headers),
            HttpRefStore(self._session, address, self._headers),
            self._metrics,
            "upstream",
        )
        refs = RememberingRefStore(head_there, self._tables.refs(address), fresh_s=self._settings.upstream_fresh_s)
        return UpstreamDataset(refs, Dataset(PullThroughReader(there, self._cache), refs, states=self._states))

    def _note(self, answered: bool) -> None:
        if answered != self._answered:
            self._answered = answered
            SERVER.warning("%s %s", self._base, "answers again" if answered else "does not answer: what is kept counts")


@asynccontextmanager
async def upstream_of(
    settings: Settings,
    tables: StoreTables,
    owner: Account,
    metrics: StoreMetrics,
    *,
    now: Callable[[], float] = time.time,
) -> AsyncIterator[Upstream | None]:
    """The upstream that the settings name, with connections of its own; ``None`` when they name none."""
    if settings.upstream is None:
        yield None
        return
    if settings.upstream_cache_path is None:
        raise MalformedInput("an upstream needs a folder for what is kept of it", hint="set ODF_UPSTREAM_CACHE")
    await asyncio.to_thread(settings.upstream_cache_path.mkdir, parents=True, exist_ok=True)
    cache = ObjectCache(LocalObjectStore(settings.upstream_cache_path), bytes_max=settings.upstream_cache_bytes_max)
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        try:
            await cache.sweep(before=now() - _LEFT_OVER_S)
            yield Upstream(session, settings, cache, tables=tables, owner=owner, metrics=metrics)
        finally:
            await cache.settle()
