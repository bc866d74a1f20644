"""Requests that may come again under a key of their own: who does one first, and what was answered.

An account's keys are its own. Times are seconds since 1970.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import orjson
from sqlalchemy import ColumnElement, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from catalog.engine import Database
from catalog.repeat_tables import repeats
from opendatafabric.did import AccountId
from opendatafabric.errors import Conflict, LimitExceeded
from opendatafabric.server_limits import IDEMPOTENCY_KEYS_MAX

KEPT_S: Final = 86_400.0
"""Nobody sends a request again after a day."""

GIVEN_UP_S: Final = 600.0
"""A request that was begun so long ago and has no answer was cut off: the next one does it."""


@dataclass(frozen=True, slots=True)
class RepeatKey:
    """``fingerprint`` differs for requests that ask for something else."""

    account_id: AccountId
    key: str
    fingerprint: bytes


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """What was answered; without a ``body`` it held something that is not kept."""

    status: int
    headers: Mapping[str, str]
    body: bytes | None


class OtherRequest(Conflict):
    """A key that stands for another request."""

    code = "key-used"


class Repeats:
    """The requests of one catalog."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database, self._now = database, now

    async def begin(self, key: RepeatKey) -> KeptAnswer | None:
        """The answer that was given; ``None`` when the request is to be done now, by the caller.

        Raises:
            OtherRequest: the key stands for another request.
            Conflict: somebody is doing it at this moment.
            LimitExceeded: the account has too many keys.
        """
        now = self._now()
        async with self._database.writing() as connection:
            row = (await connection.execute(select(repeats).where(*_is(key)))).first()
            if row is not None and row.began_at > now - KEPT_S:
                if row.fingerprint != key.fingerprint:
                    raise OtherRequest(
                        "this idempotency key was used for another request", hint="take a new key for another request"
                    )
                if row.status is not None:
                    return KeptAnswer(row.status, orjson.loads(row.headers), row.body)
                if row.began_at > now - GIVEN_UP_S:
                    raise Conflict("this request is being done at this moment", hint="ask again in a second")
            await connection.execute(delete(repeats).where(*_is(key)))
            await _check_room(connection, key)
            values = {"account_id": str(key.account_id), "key": key.key, "fingerprint": key.fingerprint}
            await connection.execute(insert(repeats).values(values | {"began_at": now}))
        return None

    async def end(self, key: RepeatKey, answer: KeptAnswer) -> None:
        """Keep what was answered."""
        values = {"status": answer.status, "headers": orjson.dumps(dict(answer.headers)).decode(), "body": answer.body}
        async with self._database.writing() as connection:
            await connection.execute(update(repeats).where(*_is(key)).values(values))

    async def give_up(self, key: RepeatKey) -> None:
        """The request came to nothing: whoever sends it again has it done."""
        async with self._database.writing() as connection:
            await connection.execute(delete(repeats).where(*_is(key), repeats.c.status.is_(None)))

    async def clear(self) -> None:
        """Forget what nobody sends again any more."""
        async with self._database.writing() as connection:
            await connection.execute(delete(repeats).where(repeats.c.began_at < self._now() - KEPT_S))


async def _check_room(connection: AsyncConnection, key: RepeatKey) -> None:
    count = select(func.count()).select_from(repeats).where(repeats.c.account_id == str(key.account_id))
    if ((await connection.execute(count)).scalar() or 0) >= IDEMPOTENCY_KEYS_MAX:
        raise LimitExceeded("too many idempotency keys in a day", expected=f"at most {IDEMPOTENCY_KEYS_MAX}")


def _is(key: RepeatKey) -> tuple[ColumnElement[bool], ...]:
    return repeats.c.account_id == str(key.account_id), repeats.c.key == key.key
