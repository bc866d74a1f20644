"""Where the head of a dataset in a bucket lies while the dataset is out of sight.

There is no folder to rename: whoever is writing to the dataset would still move its head. So the head is put aside
under another name, and every compare-and-swap that believes in it fails.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from opendatafabric.block_ref import HEAD
from opendatafabric.errors import RefConflict, TransientStorageError
from opendatafabric.limits import S3_REQUESTS_AT_ONCE
from storage.protocols import RefStore

PARKED: Final = "deleted"


async def park_head(refs: RefStore) -> None:
    """Put the head aside, wherever it is now; done again after a crash it goes on.

    Raises:
        TransientStorageError: others move it too often.
    """
    for _ in range(S3_REQUESTS_AT_ONCE):
        head = await refs.read(HEAD)
        if head is None:
            return
        with suppress(RefConflict):
            await refs.compare_and_swap(PARKED, expected=await refs.read(PARKED), new=head)
            await refs.compare_and_swap(HEAD, expected=head, new=None)
            return
    raise TransientStorageError("the head is moved too often by others", hint="try again")


async def bring_head_back(refs: RefStore) -> None:
    """Let the head be what it was; one that is there already stays."""
    parked = await refs.read(PARKED)
    if parked is not None and await refs.read(HEAD) is None:
        with suppress(RefConflict):
            await refs.compare_and_swap(HEAD, expected=None, new=parked)


async def forget_parked(refs: RefStore) -> None:
    """The head is back."""
    with suppress(RefConflict):
        await refs.compare_and_swap(PARKED, expected=await refs.read(PARKED), new=None)
