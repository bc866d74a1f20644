"""How far scrubbing came, as one note for all servers of a repository, leased to the one that scrubs; what it found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import insert, select, update

from catalog.audit import Audit
from catalog.engine import Database
from catalog.tables import scrubs
from opendatafabric.dataset_ref import DatasetAlias
from storage.scrub import Scrubbed

_THE_ONE: Final = scrubs.c.id == 1


@dataclass(frozen=True, slots=True)
class ScrubState:
    """The next scrub goes on behind the object ``after`` of the dataset ``dataset``, from the start if there is none.
    Times in seconds since 1970."""

    dataset: str = ""
    after: str = ""
    next_run_at: float = 0.0
    last_end_at: float | None = None


class Scrubs:
    """The note in one catalog."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now

    async def state(self) -> ScrubState:
        """How far it came."""
        async with self._database.reading() as connection:
            row = (await connection.execute(select(scrubs).where(_THE_ONE))).first()
        return ScrubState() if row is None else _state(row)

    async def claim_due(self, owner: str, *, lease_s: float, first_in_s: float) -> ScrubState | None:
        """The note, for ``owner`` alone, if a scrub is due and nobody scrubs. The first one is ``first_in_s`` from the
        first time that anybody asks."""
        now = self._now()
        async with self._database.writing() as connection:
            row = (await connection.execute(select(scrubs).where(_THE_ONE))).first()
            if row is None:
                first = {"id": 1, "dataset": "", "after": "", "next_run_at": now + first_in_s}
                await connection.execute(insert(scrubs).values(first))
                return None
            if row.next_run_at > now or (row.lease_until is not None and row.lease_until > now):
                return None
            lease = {"lease_owner": owner, "lease_until": now + lease_s}
            await connection.execute(update(scrubs).where(_THE_ONE).values(lease))
        return _state(row)

    async def keep(self, owner: str, *, dataset: str, after: str, lease_s: float) -> bool:
        """Note how far ``owner`` came, and that it goes on; ``False`` when somebody else scrubs by now."""
        until = self._now() + lease_s
        return await self._change(owner, dataset=dataset, after=after, lease_until=until)

    async def release(self, owner: str, *, dataset: str, after: str) -> None:
        """Give up before the end: whoever comes next goes on there, at once."""
        await self._change(owner, dataset=dataset, after=after, lease_owner=None, lease_until=None)

    async def finish(self, owner: str, *, next_in_s: float) -> None:
        """Everything was read; the next time from the start, in so many seconds."""
        now = self._now()
        await self._change(
            owner,
            dataset="",
            after="",
            lease_owner=None,
            lease_until=None,
            last_end_at=now,
            next_run_at=now + next_in_s,
        )

    async def _change(self, owner: str, **values: Any) -> bool:
        statement = update(scrubs).where(_THE_ONE, scrubs.c.lease_owner == owner).values(values)
        async with self._database.writing() as connection:
            return bool((await connection.execute(statement)).rowcount)


async def note_damage(audit: Audit, alias: DatasetAlias, done: Scrubbed) -> None:
    """Write into the trail what was wrong with a block or object, and whether it was healed."""
    if done.damage is not None:
        details = {"key": done.key, "code": done.damage.code, "message": done.damage.message}
        await audit.append("healed" if done.healed else "damaged", str(alias), details)


def _state(row: Any) -> ScrubState:
    return ScrubState(row.dataset, row.after, row.next_run_at, row.last_end_at)
