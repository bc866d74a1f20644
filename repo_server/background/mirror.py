"""Mirrors run by the server: on their schedule, or right after a head moved; never in the way of a push.

Each run is leased in the catalog, so that of several servers one does it. What goes wrong with one dataset does
not stop the others; a mirror that failed is tried again later each time. ``odf mirror run`` does the same by hand.
"""

from __future__ import annotations

import asyncio
import math
import random
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from catalog.catalog import Catalog
from catalog.facts_refresh import refresh_facts
from catalog.mirrors import ON_CHANGE, Direction, Mirror, MirroredDataset
from catalog.visibility import Visibility
from opendatafabric.dataset_patterns import DatasetAliasPattern
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import OdfError
from repo_server.background.mirror_target import HostedTarget, MirrorPlace
from repo_server.logs import SERVER, redacted
from storage.backoff import jittered_wait_s
from storage.cron import next_strike
from storage.dataset import Dataset
from storage.repository import DatasetEntry
from storage.under_lease import under_lease
from sync.mirror import MirrorTools, PushJob, State, dataset_address, push_to_mirror
from sync.pull import pull_dataset
from sync.remote import parse_remote
from sync.transfer import TransferOptions, TransferResult

LEASE_S: Final = 60.0
"""A server that died is replaced after so long."""

FIRST_WAIT_S: Final = 30.0
WAIT_S_MAX: Final = 3_600.0
"""Back-off of a mirror that fails: from half a minute to an hour."""

LOOK_AGAIN_S: Final = 3_600.0
"""A push that follows every move is run so often anyway: other programs move heads too."""

POLL_HEAD_S: Final = 15.0
"""A pull that follows every move asks for the head so often, one small request a dataset."""

AWAY_MAX: Final = 3
"""After so many datasets in a row for which nobody answered, the rest waits for the next run: each may take minutes."""

_POLL_S: Final = 15.0
_AT_ONCE: Final = 4


class MirrorRunner:
    """Runs the mirrors of one catalog."""

    def __init__(self, place: MirrorPlace, tools: MirrorTools) -> None:
        self._place = place
        self._tools = tools
        self._owner = secrets.token_hex(8)
        self._wake = asyncio.Event()
        self._head_moved = False

    def wake(self) -> None:
        """A head moved: mirrors that follow heads are due."""
        self._head_moved = True
        self._wake.set()

    async def run_for_ever(self) -> None:
        """A few at a time, whenever they are due."""
        async with asyncio.TaskGroup() as workers:
            for _ in range(_AT_ONCE):
                workers.create_task(self._work())

    async def run_due(self) -> bool:
        """Run one mirror that is due, if there is one."""
        if self._head_moved:
            self._head_moved = False
            await self._place.catalog.mirrors.wake()
        mirror = await self._place.catalog.mirrors.claim_due(self._owner, lease_s=LEASE_S)
        if mirror is None:
            return False
        self._wake.set()  # another worker may look whether there is more
        await self._run(mirror)
        return True

    async def run_now(self, mirror_id: int) -> str | None:
        """Run a mirror whether or not it is due; what went wrong, if anything did.

        Raises:
            NotFound, Conflict: there is none, or it is being run.
        """
        return await self._run(await self._place.catalog.mirrors.claim(mirror_id, self._owner, lease_s=LEASE_S))

    async def _work(self) -> None:
        while True:
            try:
                if await self.run_due():
                    continue
            except OdfError as error:
                SERVER.warning("mirrors could not be run: %s", error)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), _POLL_S)
            self._wake.clear()

    async def _run(self, mirror: Mirror) -> str | None:
        mirrors = self._place.catalog.mirrors
        try:
            async with under_lease(self._copy_all(mirror), self._keep_lease(mirror)) as done:
                if done is None:
                    return "somebody else runs the mirror by now"
                copied = done.result()
                error = next((each.error for each in copied if each.error is not None), None)
                failures = 0 if error is None else mirror.failures + 1
                next_run_at = min([self._next_run(mirror, failures), *(each.again_at for each in copied)])
                await mirrors.finish(mirror.id, self._owner, error=error, failures=failures, next_run_at=next_run_at)
                return error
        except BaseException:
            await asyncio.shield(mirrors.release(mirror.id, self._owner))
            raise

    async def _keep_lease(self, mirror: Mirror) -> None:
        kept = True
        while kept:
            await asyncio.sleep(LEASE_S / 3)
            kept = await self._place.catalog.mirrors.renew(mirror.id, self._owner, lease_s=LEASE_S)

    def _next_run(self, mirror: Mirror, failures: int) -> float:
        now = self._place.now()
        if failures:
            return now + jittered_wait_s(failures - 1, first_wait_s=FIRST_WAIT_S, wait_s_max=WAIT_S_MAX)
        if mirror.schedule != ON_CHANGE:
            return next_strike(mirror.schedule, now)
        return now + (LOOK_AGAIN_S if mirror.direction is Direction.PUSH else POLL_HEAD_S)

    async def _copy_all(self, mirror: Mirror) -> list[_Copied]:
        """Every dataset of the mirror, one after another, unless the other side is away."""
        if mirror.direction is Direction.PULL:
            steps = [self._pull(mirror, DatasetAlias.from_text(name)) for name in mirror.pattern.split(",")]
        else:
            pattern = DatasetAliasPattern.from_text(mirror.pattern)
            entries = [entry async for entry in self._place.repository.iterate() if pattern.matches(entry.alias)]
            steps = [self._push(mirror, entry) for entry in entries]
        random.shuffle(steps)  # so that those which are left out are others each time
        copied: list[_Copied] = []
        for step in steps:
            if [each.away for each in copied[-AWAY_MAX:]] == [True] * AWAY_MAX:
                step.close()
            else:
                copied.append(await step)
        return copied

    async def _push(self, mirror: Mirror, entry: DatasetEntry) -> _Copied:
        record = await self._place.catalog.datasets.find(entry.id)
        is_public = record is not None and record.visibility is Visibility.PUBLIC

        async def push(reached: _Reached) -> tuple[Dataset, float | None]:
            job = PushJob(
                dataset_id=entry.id,
                dataset=entry.dataset,
                address=dataset_address(mirror.target, entry.alias.name),
                visibility="Public" if is_public else "Private",
                now=self._place.now(),
                state=reached.known.state,
                keep=reached.keep_state,
                token=mirror.token,
            )
            return entry.dataset, await push_to_mirror(self._tools, job)

        return await self._noted(mirror, entry.alias, push)

    async def _pull(self, mirror: Mirror, alias: DatasetAlias) -> _Copied:
        target = HostedTarget(self._place, alias)

        async def pull(_: _Reached) -> tuple[Dataset, None]:
            source, options = (
                parse_remote(dataset_address(mirror.target, alias.name)),
                TransferOptions(admit=target.admit),
            )
            try:
                result = await pull_dataset(
                    self._tools.session, source, target, token=mirror.token, ipfs=self._tools.ipfs, options=options
                )
            finally:
                await target.let_go()
            await self._note_pull(target.dataset, result)
            return target.dataset, None

        return await self._noted(mirror, alias, pull)

    async def _note_pull(self, dataset: Dataset, result: TransferResult) -> None:
        """Whoever waits for news of the dataset hears of it."""
        catalog, dataset_id = self._place.catalog, (await dataset.seed()).dataset_id
        before, after = result.old_head, result.new_head
        if after != before:
            await catalog.datasets.log_move(dataset_id, None, expected_head=before, new_head=after)
        await catalog.watches.moved(dataset_id, after)
        await refresh_facts(catalog.dataset_facts, dataset_id, dataset)

    async def _noted(
        self, mirror: Mirror, alias: DatasetAlias, copy: Callable[[_Reached], Awaitable[tuple[Dataset, float | None]]]
    ) -> _Copied:
        known = (await self._place.catalog.mirrors.datasets(mirror.id)).get(str(alias), MirroredDataset())
        reached = _Reached(self._place.catalog, mirror.id, str(alias), known)
        error: str | None = None
        head: str | None = known.head
        again_at: float | None = None
        away = False
        try:
            dataset, again_at = await copy(reached)
            head = str(await dataset.head())
        except OdfError as failure:
            error, away = f"{alias}: {failure.message}", failure.retryable
        except Exception as failure:
            SERVER.error("mirror %d crashed", mirror.id, exc_info=failure)
            error = f"{alias}: {type(failure).__name__}"
        if head != known.head:
            await self._write_down(mirror, alias, known.head, head)
        behind_since = None if error is None else known.behind_since or self._place.now()
        await reached.keep(replace(reached.known, head=head, error=error, behind_since=behind_since))
        return _Copied(error, math.inf if again_at is None else again_at, away)

    async def _write_down(self, mirror: Mirror, alias: DatasetAlias, before: str | None, after: str | None) -> None:
        """A copy that went through is in the audit log."""
        heads = {"old_head": before, "new_head": after}
        details = {"by": "mirror", "mirror": mirror.id, "target": redacted(mirror.target), **heads}
        await self._place.catalog.audit.append(f"mirror {mirror.direction.value}", str(alias), details)


@dataclass(frozen=True, slots=True)
class _Copied:
    """What went wrong with a dataset, when it must be copied again though nothing moves, whether nobody answered."""

    error: str | None
    again_at: float
    away: bool


@dataclass(slots=True)
class _Reached:
    catalog: Catalog
    mirror_id: int
    dataset: str
    known: MirroredDataset

    async def keep_state(self, state: State) -> None:
        await self.keep(replace(self.known, state=state))

    async def keep(self, reached: MirroredDataset) -> None:
        self.known = reached
        await self.catalog.mirrors.keep(self.mirror_id, self.dataset, reached)
