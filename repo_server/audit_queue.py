"""The way of a server's deeds into the audit log: many at once in one transaction, and no more than the disk can take.

What was done is written before its answer goes out. Objects that arrive are counted and written together, every few
seconds: they are nothing before a head moves, and that is written by itself. Refusals are written soon, so many for
each address; what goes beyond is counted, and the counts are written.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from catalog.audit import Audit, Deed
from catalog.budgets import Budget, Budgets
from opendatafabric.errors import OdfError
from repo_server.addresses import one_customer
from repo_server.logs import SERVER

REFUSALS_OF_ONE: Final = Budget(60, 3_600.0)
"""Refusals of one address that are written one by one: a person who errs makes a few."""

REFUSALS_OF_ALL: Final = Budget(3_600, 3_600.0)
"""Of all addresses, in each process: half a megabyte an hour at most."""

COUNTED_S: Final = 10.0
"""So often is written what was counted; so much of the counts is lost at most when the process dies."""

LEFT_OUT_EVERY_S: Final = 60.0
LEFT_OUT_ADDRESSES_MAX: Final = 20
"""Addresses that are named each time when refusals were left out; those of others are added up."""

LEFT_OUT: Final = "refusals-left-out"
_KEYS_MAX: Final = 1_000
_AT_ONCE: Final = 500
_OTHERS: Final = "others"
_Counted = tuple[str, str, str]


class AuditQueue:
    """Deeds of one process; ``now`` in seconds, of any clock that does not go back."""

    def __init__(self, audit: Audit, now: Callable[[], float]) -> None:
        self._audit, self._now = audit, now
        self._waiting: list[tuple[Deed, asyncio.Future[None]]] = []
        self._writing: asyncio.Task[None] | None = None
        self._one, self._all = Budgets(REFUSALS_OF_ONE), Budgets(REFUSALS_OF_ALL)
        self._left_out: Counter[str] = Counter()
        self._counted: dict[_Counted, tuple[Deed, int, int]] = {}

    async def written(self, deed: Deed) -> None:
        """Write it down; it is in the log when this returns, or, where the catalog fails, in the log of the server."""
        await asyncio.shield(self._queued(deed))

    def write_soon(self, deed: Deed) -> None:
        """The same without waiting for it."""
        self._queued(deed)

    def refused(self, deed: Deed, address: str) -> None:
        """Write a refusal soon, if ``address`` has not had too many; else count it."""
        key, now = one_customer(address), self._now()
        if self._one.take(key, now).granted and self._all.take("", now).granted:
            self._queued(deed)
        else:
            self._left_out[key if key in self._left_out or len(self._left_out) < _KEYS_MAX else _OTHERS] += 1

    def count(self, deed: Deed, *, size: int) -> None:
        """Write equal deeds as one, soon; ``size`` in bytes is added up."""
        key = (deed.action, deed.subject, repr(sorted(deed.details.items())))
        _, number, total = self._counted.get(key, (deed, 0, 0))
        self._counted[key] = deed, number + 1, total + size
        if len(self._counted) >= _KEYS_MAX:
            self.write_counted()

    def write_counted(self) -> None:
        """Write what was counted so far."""
        counted, self._counted = self._counted, {}
        for deed, number, total in counted.values():
            self._queued(Deed(deed.action, deed.subject, {**deed.details, "times": number, "bytes": total}))

    def write_left_out(self) -> None:
        """Write how many refusals were left out."""
        left_out, self._left_out = self._left_out, Counter()
        named = dict(left_out.most_common(LEFT_OUT_ADDRESSES_MAX))
        others = left_out.total() - sum(named.values())
        for address, number in [*named.items(), *([(_OTHERS, others)] if others else [])]:
            self._queued(Deed(LEFT_OUT, address, {"by": "server", "times": number}))

    async def run_for_ever(self) -> None:
        """Write counts, every few seconds."""
        rounds = 0
        while True:
            await asyncio.sleep(COUNTED_S)
            rounds += 1
            self.write_counted()
            if rounds % round(LEFT_OUT_EVERY_S / COUNTED_S) == 0:
                self.write_left_out()

    async def settle(self) -> None:
        """Write everything, so that the catalog may be closed."""
        self.write_counted()
        self.write_left_out()
        while self._writing is not None:
            await self._writing

    def _queued(self, deed: Deed) -> asyncio.Future[None]:
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((deed, written))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        return written

    async def _write(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:_AT_ONCE], self._waiting[_AT_ONCE:]
                await self._append([deed for deed, _ in batch])
                _tell(batch)
        finally:
            self._writing = None

    async def _append(self, deeds: Sequence[Deed]) -> None:
        try:
            await self._audit.append_all(deeds)
        except OdfError as error:
            for deed in deeds:
                SERVER.error("not in the audit log: %s", error, extra={"fields": {"deed": _plain(deed)}})


def _tell(batch: Sequence[tuple[Deed, asyncio.Future[None]]]) -> None:
    for _, written in batch:
        if not written.done():
            written.set_result(None)


def _plain(deed: Deed) -> Mapping[str, Any]:
    return {"action": deed.action, "subject": deed.subject, **deed.details}
