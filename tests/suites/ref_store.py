"""The contract of RefStore as a class: subclass, give a ``refs`` fixture and a ``plant`` method, run."""

from __future__ import annotations

import asyncio

import pytest

from opendatafabric.errors import MalformedIdentifier, RefConflict
from opendatafabric.multihash import Multihash, physical_hash
from storage.protocols import RefStore

A, B, C = (physical_hash(name) for name in (b"a", b"b", b"c"))

HOSTILE_NAMES = [
    "",
    ".",
    "..",
    "head/../x",
    "../head",
    "/head",
    "head/",
    ".lock",
    "HEAD",
    "he ad",
    "head\n",
    "head\0",
    "ħead",
]


class RefStoreSuite:
    async def test_a_new_store_has_no_refs(self, refs: RefStore) -> None:
        assert await refs.read("head") is None
        assert await refs.list() == {}

    async def test_a_ref_is_created_when_none_was_expected(self, refs: RefStore) -> None:
        await refs.compare_and_swap("head", expected=None, new=A)
        assert await refs.read("head") == A

    async def test_a_ref_moves_from_the_expected_head(self, refs: RefStore) -> None:
        await refs.compare_and_swap("head", expected=None, new=A)
        await refs.compare_and_swap("head", expected=A, new=B)
        assert await refs.read("head") == B

    @pytest.mark.parametrize("expected", [None, B], ids=["none", "another"])
    async def test_a_stale_expected_head_is_refused(self, refs: RefStore, expected: Multihash | None) -> None:
        await refs.compare_and_swap("head", expected=None, new=A)
        with pytest.raises(RefConflict) as conflict:
            await refs.compare_and_swap("head", expected=expected, new=C)
        assert await refs.read("head") == A
        assert conflict.value.found == str(A)
        assert conflict.value.expected == ("no block" if expected is None else str(expected))

    async def test_a_head_expected_where_none_is_is_refused(self, refs: RefStore) -> None:
        with pytest.raises(RefConflict) as conflict:
            await refs.compare_and_swap("head", expected=A, new=B)
        assert conflict.value.found == "no block"
        assert await refs.read("head") is None

    async def test_a_ref_may_be_moved_to_where_it_is(self, refs: RefStore) -> None:
        await refs.compare_and_swap("head", expected=None, new=A)
        await refs.compare_and_swap("head", expected=A, new=A)
        assert await refs.read("head") == A

    async def test_a_ref_is_removed_by_moving_it_to_nothing(self, refs: RefStore) -> None:
        await refs.compare_and_swap("head", expected=None, new=A)
        await refs.compare_and_swap("head", expected=A, new=None)
        assert await refs.read("head") is None
        assert await refs.list() == {}

    async def test_moving_nothing_to_nothing_does_nothing(self, refs: RefStore) -> None:
        await refs.compare_and_swap("head", expected=None, new=None)
        assert await refs.list() == {}

    async def test_a_removed_ref_can_be_made_again(self, refs: RefStore) -> None:
        await refs.compare_and_swap("head", expected=None, new=A)
        await refs.compare_and_swap("head", expected=A, new=None)
        await refs.compare_and_swap("head", expected=None, new=B)
        assert await refs.read("head") == B

    async def test_several_refs_live_side_by_side(self, refs: RefStore) -> None:
        await refs.compare_and_swap("head", expected=None, new=A)
        await refs.compare_and_swap("staging", expected=None, new=B)
        await refs.compare_and_swap("head", expected=A, new=C)
        assert await refs.list() == {"head": C, "staging": B}

    async def test_of_concurrent_writers_exactly_one_wins(self, refs: RefStore) -> None:
        heads = [physical_hash(bytes([i])) for i in range(16)]
        results = await asyncio.gather(
            *(refs.compare_and_swap("head", expected=None, new=head) for head in heads), return_exceptions=True
        )
        winners = [head for head, result in zip(heads, results, strict=True) if result is None]
        assert len(winners) == 1
        assert await refs.read("head") == winners[0]
        assert all(isinstance(result, RefConflict) for result in results if result is not None)

    async def test_a_history_of_swaps_has_no_gap(self, refs: RefStore) -> None:
        moves: list[tuple[Multihash | None, Multihash]] = []

        async def writer(number: int) -> None:
            for step in range(5):
                new = physical_hash(bytes([number, step]))
                while True:
                    expected = await refs.read("head")
                    try:
                        await refs.compare_and_swap("head", expected=expected, new=new)
                    except RefConflict:
                        continue
                    moves.append((expected, new))
                    break

        await asyncio.gather(*(writer(number) for number in range(4)))
        after = dict(moves)
        head: Multihash | None = None
        for _ in range(20):
            head = after.pop(head)
        assert after == {}
        assert await refs.read("head") == head

    @pytest.mark.parametrize("name", [*HOSTILE_NAMES, "x" * 1000])
    async def test_what_is_no_name_is_refused(self, refs: RefStore, name: str) -> None:
        with pytest.raises(MalformedIdentifier):
            await refs.read(name)
        with pytest.raises(MalformedIdentifier):
            await refs.compare_and_swap(name, expected=None, new=A)
