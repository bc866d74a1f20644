"""How the head of a dataset may move in this repository: a file beside the chain, which every mover reads.

It is local to the place, as all of ``info/``. A policy that is being written waits for those who move the head by the
one before; see ``docs/adr/0005-leases-without-clocks.md`` for why that takes no clock.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import orjson

from opendatafabric.errors import ObjectNotFound, StorageError
from opendatafabric.layout import INFO_POLICY
from opendatafabric.limits import IDENTIFIER_CHARS_MAX
from storage.leases import outwait
from storage.protocols import ObjectReader, ObjectStore
from storage.values import LeaseKind, WriteMode


@dataclass(frozen=True, slots=True)
class HeadPolicy:
    """``append_only``: the head only goes forward, whoever moves it. Without ``allow_force`` it goes back by undoing
    alone. What is not said here is allowed."""

    append_only: bool = False
    allow_force: bool = True

    def allows_leaving(self, *, by_undo: bool) -> bool:
        """Whether the head may move to a block that does not continue it."""
        return not self.append_only and (self.allow_force or by_undo)


async def read_policy(objects: ObjectReader) -> HeadPolicy:
    """The policy of a dataset; where none was written, everything is allowed.

    Raises:
        StorageError: it is damaged. Nothing moves then: nobody knows what it forbids.
    """
    try:
        raw = await objects.read(INFO_POLICY, size_max=IDENTIFIER_CHARS_MAX)
    except ObjectNotFound:
        return HeadPolicy()
    try:
        told = orjson.loads(raw)
        return HeadPolicy(bool(told["append_only"]), bool(told["allow_force"]))
    except (ValueError, KeyError, TypeError):
        raise StorageError(f"{INFO_POLICY} is damaged", hint="write it again: odf policy REF --allow-force") from None


async def write_policy(objects: ObjectStore, policy: HeadPolicy) -> None:
    """Let the head move by that policy from now on: on return, nobody moves it by another.

    Raises:
        TransientStorageError: it is written, and somebody who moves the head by the one before did not end.
    """
    await objects.put(INFO_POLICY, orjson.dumps(asdict(policy)), WriteMode.REPLACE)
    await outwait(objects.leases, LeaseKind.MOVE)
