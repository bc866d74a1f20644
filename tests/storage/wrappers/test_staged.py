"""A head that moves another ref, and a head that is fixed."""

from __future__ import annotations

import pytest

from opendatafabric.block_ref import HEAD, STAGING
from opendatafabric.errors import RefConflict, UnsupportedOperation
from opendatafabric.multihash import physical_hash
from storage.memory import MemoryRefStore
from storage.wrappers.staged import FixedHead, StagingRefs

OLD, NEW, NEWER = (physical_hash(data) for data in (b"old", b"new", b"newer"))


async def test_what_would_move_the_head_is_staged() -> None:
    inner = MemoryRefStore()
    await inner.compare_and_swap(HEAD, expected=None, new=OLD)
    refs = StagingRefs(inner)
    for new in (NEW, NEWER):
        await refs.compare_and_swap(HEAD, expected=OLD, new=new)
        assert await refs.list() == {HEAD: OLD, STAGING: new}
        assert await refs.read(HEAD) == OLD


async def test_who_does_not_know_the_head_stages_nothing() -> None:
    inner = MemoryRefStore()
    await inner.compare_and_swap(HEAD, expected=None, new=OLD)
    with pytest.raises(RefConflict):
        await StagingRefs(inner).compare_and_swap(HEAD, expected=NEW, new=NEWER)
    assert await inner.list() == {HEAD: OLD}


async def test_other_refs_move_as_ever() -> None:
    inner = MemoryRefStore()
    await StagingRefs(inner).compare_and_swap("mine", expected=None, new=NEW)
    assert await inner.list() == {"mine": NEW}


async def test_a_fixed_head_never_moves() -> None:
    refs = FixedHead(OLD)
    assert (await refs.read(HEAD), await refs.read(STAGING), await refs.list()) == (OLD, None, {HEAD: OLD})
    with pytest.raises(UnsupportedOperation):
        await refs.compare_and_swap(HEAD, expected=OLD, new=NEW)
