"""Leases of datasets whose tables lie in the catalog: rows that die of silence, as in ``storage/signs_of_life.py``.

Signs are counted by the clock of the machine since it was started, which nobody sets: a catalog in an SQLite file is of
one machine. A sign from its future is of an earlier start, and whoever gave it is dead.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection
from contextlib import suppress

from sqlalchemy import delete, insert, select, update

from catalog.engine import Database
from catalog.tables import stored_leases
from opendatafabric.errors import OdfError
from opendatafabric.limits import LEASE_SILENCE_S_MAX
from storage.signs_of_life import SignsOfLife, seconds
from storage.values import Lease, LeaseKind


class PlaceLeases:
    """A LeaseStore of one place; ``now`` in seconds since 1970."""

    def __init__(self, database: Database, now: Callable[[], float], place: str) -> None:
        self._database = database
        self._now = now
        self._place = place
        self._signs = SignsOfLife(self._sign)

    async def place(self, kind: LeaseKind, contents: bytes) -> Lease:
        """As in the protocol."""
        lease = Lease(secrets.token_hex(16), kind, contents, self._now())
        began = seconds()
        row = {"token": lease.token, "place": self._place, "kind": kind.value, "contents": contents}
        times = {"placed_at": lease.placed_at, "signed_at": began}
        async with self._database.writing() as connection:
            await connection.execute(insert(stored_leases).values({**row, **times}))
        self._signs.begin(lease.token, began=began)
        return lease

    async def withdraw(self, lease: Lease) -> None:
        """As in the protocol."""
        await self._signs.end(lease.token)
        with suppress(OdfError):  # it dies of silence
            await self._remove({lease.token})

    async def standing(self) -> list[Lease]:
        """As in the protocol."""
        async with self._database.reading() as connection:
            rows = list(await connection.execute(select(stored_leases).where(stored_leases.c.place == self._place)))
        now = seconds()
        silent = {row.token for row in rows if not 0 <= now - row.signed_at <= LEASE_SILENCE_S_MAX}
        dead = silent - self._signs.tokens
        if dead:
            await self._remove(dead)
        living = (row for row in rows if row.token not in dead)
        return [Lease(row.token, LeaseKind(row.kind), row.contents, row.placed_at) for row in living]

    async def confirm(self) -> None:
        """As in the protocol."""
        self._signs.confirm()

    async def _sign(self, token: str) -> None:
        signed = update(stored_leases).where(stored_leases.c.token == token).values(signed_at=seconds())
        async with self._database.writing() as connection:
            await connection.execute(signed)

    async def _remove(self, tokens: Collection[str]) -> None:
        async with self._database.writing() as connection:
            for token in tokens:
                await connection.execute(delete(stored_leases).where(stored_leases.c.token == token))
