"""Ingests that were asked for over HTTP: so many at once, one after another in each dataset, each made exactly once.

Exactly once, by idempotency key. Which block an ingest will make is known before it is committed, since its hash is: it
goes into the catalog first (the plan), then the head is moved. When a request comes again, the plans of its key are
looked up, and the chain is asked whether one of them is in it. If so, its answer is the answer, whoever was told of it
or not. If not, that commit never happened, and a new try is made. Why no commit happens twice, though several tries may
run at the same time, in several processes, and any of them may die anywhere:

- A try reads the head, then the plans; it goes on only if none of them is on the chain below that head. Its own commit
  moves the head from there or not at all.
- So another try that committed before our head was read had written its plan even earlier, and we find it. One that
  commits after it takes the head from us: our commit fails, and begins anew with finding its plan.

No lock, clock or lease is needed for that; the lock on each dataset keeps tries of one process from running in vain.
An ingest that found nothing new has the old head as its plan, which is on the chain: it is settled at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from weakref import WeakValueDictionary

from typing_extensions import TypedDict

from catalog.ingest_plans import IngestKey, IngestPlan, IngestPlans
from opendatafabric.did import DatasetId
from opendatafabric.errors import Conflict, EngineUnavailable, RefConflict
from opendatafabric.instant import Instant
from opendatafabric.multihash import Multihash
from pipeline.commit import Outcome, PlannedCommit, Position, run_commit
from pipeline.ingest import Engine, Given, planned_ingest
from pipeline.ingest_request import Source
from pipeline.worker_client import WorkerClient
from pipeline.worker_place import JobFolders
from repo_server.config import Settings
from storage.dataset import Dataset
from storage.held_chain import is_on_chain
from storage.leases import to_its_end

_TRIES: Final = 4
"""How often an ingest is begun anew because another process moved the head meanwhile."""

_BUSY_HINT: Final = "try again after a while"


class RowCounts(TypedDict):
    """What became of the rows of a file."""

    read: int
    appended: int
    retracted: int
    corrected: int


class IngestAnswer(TypedDict):
    """What an ingest came to."""

    oldHead: str
    newHead: str
    changed: bool
    watermark: str | None
    offsets: list[int] | None
    logicalHash: str | None
    rows: RowCounts


@dataclass(frozen=True, slots=True)
class WantedIngest:
    """A request, whole and allowed. ``key`` and ``fingerprint`` tell when it comes again."""

    dataset_id: DatasetId
    dataset: Dataset
    given: Given
    choose: Callable[[Position], Source]
    on_head_moved: Callable[[Outcome], Awaitable[None]]
    key: IngestKey | None = None
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class Ingested:
    """What came of it; ``repeated`` when that was long since so."""

    answer: Mapping[str, Any]
    repeated: bool = False


class Ingests:
    """The ingests of this process, done by ``engine``; ``now`` in seconds since 1970."""

    def __init__(self, engine: Engine, plans: IngestPlans, *, at_once: int, now: Callable[[], float]) -> None:
        self._engine, self._plans, self._now = engine, plans, now
        self._at_once, self._count = at_once, 0
        self._turns: WeakValueDictionary[DatasetId, asyncio.Lock] = WeakValueDictionary()

    def check_room(self) -> None:
        """Raise ``EngineUnavailable`` when as many wait as may."""
        if self._count >= self._at_once:
            raise EngineUnavailable("too many ingests wait for the Spark worker", hint=_BUSY_HINT)

    @contextmanager
    def room(self) -> Iterator[None]:
        """Counts as one more that waits, inside; errors as ``check_room``."""
        self.check_room()
        self._count += 1
        try:
            yield
        finally:
            self._count -= 1

    async def run(self, wanted: WantedIngest) -> Ingested:
        """Do it when its turn comes; being cancelled before the commit ends it, and leaves the old head.

        Raises:
            EngineUnavailable: no room, or no engine.
            Conflict: the key was used for another request.
            RefConflict: other processes were faster, again and again.
            OdfError: as ``planned_ingest`` and ``run_commit``.
        """
        with self.room():
            async with self._turns.setdefault(wanted.dataset_id, asyncio.Lock()):
                return await self._settled(wanted)

    async def earlier(self, wanted: WantedIngest) -> Ingested | None:
        """The answer, if this request came before and was done; ``Conflict`` as in ``run``."""
        plan = await self._plan_on_chain(wanted, await wanted.dataset.head())
        return None if plan is None else Ingested(plan.answer, repeated=True)

    async def _settled(self, wanted: WantedIngest) -> Ingested:
        for _ in range(_TRIES - 1):
            try:
                return await self._try(wanted)
            except RefConflict:
                continue
        return await self._try(wanted)

    async def _try(self, wanted: WantedIngest) -> Ingested:
        known = await self.earlier(wanted)
        if known is not None:
            return known
        system_time = Instant.from_datetime(datetime.fromtimestamp(self._now(), UTC))
        planning = planned_ingest(
            wanted.dataset, self._engine, wanted.given, choose=wanted.choose, system_time=system_time
        )
        async with planning as planned:
            return await to_its_end(self._commit(wanted, planned))

    async def _commit(self, wanted: WantedIngest, planned: PlannedCommit) -> Ingested:
        outcome = planned.outcome
        answer = answer_of(outcome)
        if wanted.key is not None:
            if await self._plan_on_chain(wanted, outcome.old_head) is not None:
                raise RefConflict("the same request was done meanwhile")
            await self._plans.add(wanted.key, IngestPlan(wanted.fingerprint, outcome.new_head, answer))
        await run_commit(wanted.dataset, planned)
        if outcome.changed:
            await wanted.on_head_moved(outcome)
        return Ingested(answer)

    async def _plan_on_chain(self, wanted: WantedIngest, head: Multihash | None) -> IngestPlan | None:
        """The plan under the key of the request whose commit happened, as seen from ``head``."""
        plans = [] if wanted.key is None else await self._plans.of(wanted.key)
        if any(plan.fingerprint != wanted.fingerprint for plan in plans):
            raise Conflict(
                "this idempotency key was used for another request", hint="take a new key for other data or parameters"
            )
        for plan in plans:
            if await wanted.dataset.has_block(plan.new_head) and await is_on_chain(
                wanted.dataset.objects, plan.new_head, head
            ):
                return plan
        return None


def answer_of(outcome: Outcome) -> dict[str, Any]:
    """What is told about an ingest, as JSON values."""
    data = outcome.answer.data
    return {
        "oldHead": str(outcome.old_head),
        "newHead": str(outcome.new_head),
        "changed": outcome.changed,
        "watermark": None if outcome.watermark is None else str(outcome.watermark),
        "offsets": None if data is None else [data.offset_interval.start, data.offset_interval.end],
        "logicalHash": None if data is None else str(data.logical_hash),
        "rows": asdict(outcome.answer.rows),
    }


class ForeignEngine:
    """The Spark worker for files of strangers: their jobs run in a sandbox or not at all. Found when it is needed.

    ``spark`` is one of the other versions of the settings, which has a worker of its own.
    """

    def __init__(self, settings: Settings, spark: str | None = None) -> None:
        self._settings, self._spark = settings, spark

    def folders(self) -> AbstractContextManager[JobFolders]:
        """As the worker's client."""
        return self._client().folders()

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The answer of a job."""
        client = await asyncio.to_thread(self._client)
        return await client.run(job, arguments, foreign=True, timeout_s=self._settings.ingest_s_max)

    def _client(self) -> WorkerClient:
        place, options = self._settings.spark_worker_place, self._settings.spark_worker_options
        if self._spark is None:
            return WorkerClient(place, options)
        python = Path(self._settings.spark_environments[self._spark]) / "bin" / "python"
        return WorkerClient(place / f"spark-{self._spark}", replace(options, python=str(python)))


def other_sparks(settings: Settings) -> dict[str, Engine]:
    """The other versions of Spark of the settings, by what they are called in reports."""
    return {f"Spark {version}": ForeignEngine(settings, version) for version in settings.spark_environments}
