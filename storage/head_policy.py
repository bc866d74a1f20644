"""How the head of a dataset may move in this repository: a file beside the chain, which every mover reads.

It is local to the place, as all of ``info/``. A policy that is being written waits for those who move the head by the
one before; see ``docs/adr/0005-leases-without-clocks.md`` for why that takes no clock.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import orjson

from opendatafabric.did import DatasetId
from opendatafabric.errors import MalformedInput, ObjectNotFound, StorageError
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
    signed_by: DatasetId | None = None
    """The key that has to have signed every new head."""

    def signed_with(self, key: DatasetId | None) -> HeadPolicy:
        """The same with another key, or none."""
        return replace(self, signed_by=key)

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
        key = told.get("signed_by")
        signed_by = None if key is None else DatasetId.from_did_key(key)
        return HeadPolicy(bool(told["append_only"]), bool(told["allow_force"]), signed_by)
    except (MalformedInput, ValueError, KeyError, TypeError, AttributeError):
        raise StorageError(f"{INFO_POLICY} is damaged", hint="write it again: odf policy REF --allow-force") from None


async def write_policy(objects: ObjectStore, policy: HeadPolicy) -> None:
    """Let the head move by that policy from now on: on return, nobody moves it by another.

    Raises:
        TransientStorageError: it is written, and somebody who moves the head by the one before did not end.
    """
    await objects.put(INFO_POLICY, orjson.dumps(_plain(policy)), WriteMode.REPLACE)
    await outwait(objects.leases, LeaseKind.MOVE)


def _plain(policy: HeadPolicy) -> dict[str, bool | str | None]:
    key = None if policy.signed_by is None else policy.signed_by.did_key
    return {"append_only": policy.append_only, "allow_force": policy.allow_force, "signed_by": key}
