"""Swapping small values when answers get lost: what took effect is told as such, and nothing else is."""

from __future__ import annotations

from typing import Any

import pytest

from opendatafabric.errors import RefConflict, TransientStorageError
from opendatafabric.multihash import physical_hash
from storage.s3 import cells
from storage.s3.cells import Cells
from storage.s3.client import bucket_at
from storage.s3.location import S3Location
from storage.s3.refs import S3RefStore

A, B, C = (physical_hash(name) for name in (b"a", b"b", b"c"))


@pytest.fixture
def refs(location: S3Location) -> S3RefStore:
    return S3RefStore(location)


class Lossy:
    """Answers of writes that get lost; ``takes_effect`` tells whether the write is done, ``then`` what follows."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, losses: int, takes_effect: bool, then: Any = None) -> None:
        self._put, self._losses, self._takes_effect, self._then = cells.obstore.put_async, losses, takes_effect, then
        monkeypatch.setattr(cells.obstore, "put_async", self.put)
        monkeypatch.setattr(cells, "_WAIT_S", 0.0)

    async def put(self, *arguments: Any, **named: Any) -> Any:
        if self._losses == 0:
            return await self._put(*arguments, **named)
        self._losses -= 1
        if self._takes_effect:
            await self._put(*arguments, **named)
            if self._then is not None:
                await self._then()
        raise cells.obstore.exceptions.GenericError("HTTP error: timed out")


async def test_a_swap_whose_answer_is_lost_is_told_as_done(refs: S3RefStore, monkeypatch: pytest.MonkeyPatch) -> None:
    await refs.compare_and_swap("head", expected=None, new=A)
    Lossy(monkeypatch, losses=1, takes_effect=True)
    await refs.compare_and_swap("head", expected=A, new=B)
    assert await refs.read("head") == B


async def test_a_swap_that_took_effect_and_was_overtaken_is_told_as_done(
    refs: S3RefStore, location: S3Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    await refs.compare_and_swap("head", expected=None, new=A)
    Lossy(
        monkeypatch,
        losses=1,
        takes_effect=True,
        then=lambda: S3RefStore(location).compare_and_swap("head", expected=B, new=C),
    )
    await refs.compare_and_swap("head", expected=A, new=B)
    assert await refs.read("head") == C


async def test_a_swap_that_did_not_take_effect_is_tried_again(
    refs: S3RefStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await refs.compare_and_swap("head", expected=None, new=A)
    Lossy(monkeypatch, losses=2, takes_effect=False)
    await refs.compare_and_swap("head", expected=A, new=B)
    assert await refs.read("head") == B


async def test_a_swap_that_somebody_else_won_is_told_as_lost(
    refs: S3RefStore, location: S3Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    await refs.compare_and_swap("head", expected=None, new=A)
    rival, genuine = S3RefStore(location), cells.obstore.put_async
    read = Cells(bucket_at(location.bucket, location.endpoint)).read

    async def overtaken(*arguments: Any, **named: Any) -> Any:
        monkeypatch.setattr(cells.obstore, "put_async", genuine)
        await rival.compare_and_swap("head", expected=A, new=C)
        raise cells.obstore.exceptions.GenericError("HTTP error: timed out")

    monkeypatch.setattr(cells.obstore, "put_async", overtaken)
    with pytest.raises(RefConflict):
        await refs.compare_and_swap("head", expected=A, new=B)
    assert (await read(location.path("refs/head"))).value == str(C).encode()


async def test_a_store_that_fails_for_good_is_named_and_the_head_is_where_it_was(
    refs: S3RefStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await refs.compare_and_swap("head", expected=None, new=A)
    Lossy(monkeypatch, losses=99, takes_effect=False)
    with pytest.raises(TransientStorageError, match="refs/head"):
        await refs.compare_and_swap("head", expected=A, new=B)
    assert await refs.read("head") == A
