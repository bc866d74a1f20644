"""Heads from elsewhere: believed for a while, remembered when nobody answers, over restarts too."""

from __future__ import annotations

import asyncio

import pytest

from opendatafabric.block_ref import HEAD
from opendatafabric.errors import AccessDenied, OdfError, TransientStorageError, UnsupportedOperation
from opendatafabric.multihash import Multihash, physical_hash
from storage.memory import MemoryRefStore
from storage.wrappers import remembering
from storage.wrappers.remembering import ASK_AGAIN_S, RememberingRefStore
from tests.storage.wrappers.inner import Clock

ONE, TWO = physical_hash(b"one"), physical_hash(b"two")


class Source(MemoryRefStore):
    """Counts questions; fails or hangs when a test says."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self.fails: OdfError | None = None
        self.hangs = False

    async def read(self, name: str) -> Multihash | None:
        self.asked += 1
        if self.hangs:
            await asyncio.Event().wait()
        if self.fails is not None:
            raise self.fails
        return await super().read(name)


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def kept() -> MemoryRefStore:
    return MemoryRefStore()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def refs(source: Source, kept: MemoryRefStore, clock: Clock) -> RememberingRefStore:
    return RememberingRefStore(source, kept, fresh_s=60, now=clock)


async def move(source: Source, new: Multihash | None) -> None:
    await source.compare_and_swap(HEAD, expected=await MemoryRefStore.read(source, HEAD), new=new)


async def test_a_head_is_believed_as_long_as_it_is_fresh(
    refs: RememberingRefStore, source: Source, clock: Clock
) -> None:
    await move(source, ONE)
    assert await refs.read(HEAD) == ONE
    await move(source, TWO)
    clock.now += 59
    assert await refs.read(HEAD) == ONE
    clock.now += 1
    assert await refs.read(HEAD) == TWO
    assert source.asked == 2


async def test_absence_is_believed_too_and_ends(refs: RememberingRefStore, source: Source, clock: Clock) -> None:
    assert [await refs.read(HEAD) for _ in range(3)] == [None] * 3
    assert source.asked == 1
    await move(source, ONE)
    clock.now += 60
    assert await refs.read(HEAD) == ONE
    await move(source, None)
    clock.now += 60
    assert await refs.read(HEAD) is None


async def test_the_last_head_counts_while_nobody_answers(
    refs: RememberingRefStore, source: Source, clock: Clock
) -> None:
    await move(source, ONE)
    assert (await refs.ask(HEAD)).answered
    source.fails = TransientStorageError("away")
    clock.now += 100
    told = await refs.ask(HEAD)
    assert (told.head, told.answered, refs.age_s(told)) == (ONE, False, 100)
    source.fails = None
    await move(source, TWO)
    clock.now += ASK_AGAIN_S
    told = await refs.ask(HEAD)
    assert (told.head, told.answered, refs.age_s(told)) == (TWO, True, 0)


async def test_who_does_not_answer_is_not_asked_at_every_question(
    refs: RememberingRefStore, source: Source, clock: Clock
) -> None:
    await move(source, ONE)
    await refs.read(HEAD)
    source.fails = TransientStorageError("away")
    clock.now += 60
    for _ in range(10):
        await refs.read(HEAD)
    assert source.asked == 2


async def test_a_head_is_remembered_after_a_restart(
    refs: RememberingRefStore, source: Source, kept: MemoryRefStore, clock: Clock
) -> None:
    await move(source, ONE)
    await refs.read(HEAD)
    source.fails = TransientStorageError("away")
    restarted = RememberingRefStore(source, kept, fresh_s=60, now=clock)
    told = await restarted.ask(HEAD)
    assert (told.head, told.answered, restarted.age_s(told)) == (ONE, False, None)
    assert await restarted.list() == {HEAD: ONE}


async def test_who_never_answered_is_told_as_away(refs: RememberingRefStore, source: Source) -> None:
    source.fails = TransientStorageError("away")
    with pytest.raises(TransientStorageError):
        await refs.read(HEAD)


async def test_who_hangs_is_waited_for_briefly(
    refs: RememberingRefStore, source: Source, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembering, "REMEMBERED_REF_S_MAX", 0.01)
    await move(source, ONE)
    await refs.read(HEAD)
    source.hangs = True
    clock.now += 60
    assert await refs.read(HEAD) == ONE


async def test_a_refusal_is_an_answer(refs: RememberingRefStore, source: Source, clock: Clock) -> None:
    await move(source, ONE)
    await refs.read(HEAD)
    source.fails = AccessDenied("not for you any more")
    clock.now += 60
    with pytest.raises(AccessDenied):
        await refs.read(HEAD)


async def test_many_questions_at_once_are_one(refs: RememberingRefStore, source: Source) -> None:
    await move(source, ONE)
    assert set(await asyncio.gather(*(refs.read(HEAD) for _ in range(20)))) == {ONE}
    assert source.asked == 1


async def test_a_remembered_head_cannot_be_moved(refs: RememberingRefStore) -> None:
    with pytest.raises(UnsupportedOperation):
        await refs.compare_and_swap(HEAD, expected=None, new=ONE)
