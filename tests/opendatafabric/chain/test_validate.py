"""Whole chains: drawn ones and those of the reference pass, and no single change to one goes unseen."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.chain.state import ChainState
from opendatafabric.chain.validate import validate_chain
from opendatafabric.codec.block_codec import decode_block
from opendatafabric.errors import ChainError
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import AddPushSource, Seed, SetInfo
from opendatafabric.multihash import Multihash
from tests.opendatafabric.chain.chain_samples import (
    ROOT,
    SELECT,
    chain_of,
    hashed,
    instant,
    next_block,
    object_hash,
    push_source,
    state_after,
)
from tests.opendatafabric.chain.chain_strategies import chains

VECTORS = Path(__file__).parents[2] / "vectors"
DATASETS = sorted(folder.parent for folder in VECTORS.glob("datasets*/*/blocks"))


def read_chain(folder: Path) -> list[HashedBlock]:
    """The blocks of a dataset folder, oldest first."""
    following: Multihash | None = Multihash.from_text((folder / "refs" / "head").read_text())
    blocks = []
    while following is not None:
        blocks.append(decode_block((folder / "blocks" / str(following)).read_bytes()))
        following = blocks[-1].prev_block_hash
    return blocks[::-1]


@given(chains())
def test_chains_that_keep_the_rules_are_valid(blocks: list[HashedBlock]) -> None:
    state = validate_chain(blocks)
    assert state.head == blocks[-1].hash
    assert state.block_count == len(blocks)
    assert isinstance(state.seed, Seed)


@given(chains(), st.integers(0, 12))
def test_a_chain_may_be_checked_in_two_parts(blocks: list[HashedBlock], cut: int) -> None:
    assert validate_chain(blocks[cut:], validate_chain(blocks[:cut])) == validate_chain(blocks)


def swapped(blocks: list[HashedBlock], at: int) -> list[HashedBlock]:
    return [*blocks[:at], blocks[at + 1], blocks[at], *blocks[at + 2 :]]


def repeated(blocks: list[HashedBlock], at: int) -> list[HashedBlock]:
    return [*blocks[: at + 1], *blocks[at:]]


def without(blocks: list[HashedBlock], at: int) -> list[HashedBlock]:
    return [*blocks[:at], *blocks[at + 1 :]]


def renumbered(blocks: list[HashedBlock], at: int) -> list[HashedBlock]:
    changed = replace(blocks[at].block, sequence_number=blocks[at].sequence_number + 1)
    return [*blocks[:at], hashed(changed), *blocks[at + 1 :]]


def relinked(blocks: list[HashedBlock], at: int) -> list[HashedBlock]:
    changed = replace(blocks[at].block, prev_block_hash=object_hash(4_711))
    return [*blocks[:at], hashed(changed), *blocks[at + 1 :]]


def cut_loose(blocks: list[HashedBlock], at: int) -> list[HashedBlock]:
    changed = replace(blocks[at + 1].block, prev_block_hash=None)
    return [*blocks[: at + 1], hashed(changed), *blocks[at + 2 :]]


def earlier(blocks: list[HashedBlock], at: int) -> list[HashedBlock]:
    before = replace(blocks[at].block.system_time, year=blocks[at].block.system_time.year - 1)
    return [*blocks[: at + 1], hashed(replace(blocks[at + 1].block, system_time=before)), *blocks[at + 2 :]]


@pytest.mark.parametrize("change", [swapped, repeated, without, renumbered, relinked, cut_loose, earlier])
@given(blocks=chains(blocks_min=2), data=st.data())
def test_no_single_change_of_order_goes_unseen(
    change: Callable[[list[HashedBlock], int], list[HashedBlock]], blocks: list[HashedBlock], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(blocks) - 2))
    with pytest.raises(ChainError):
        validate_chain(change(blocks, at))


@pytest.mark.parametrize("folder", DATASETS, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_chains_of_the_reference_are_valid(folder: Path) -> None:
    blocks = read_chain(folder)
    state = validate_chain(blocks)
    assert state.block_count == len(blocks)


@pytest.mark.parametrize("folder", DATASETS, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_a_chain_of_the_reference_without_one_of_its_blocks_is_refused(folder: Path) -> None:
    blocks = read_chain(folder)
    for at in range(len(blocks) - 1):
        with pytest.raises(ChainError):
            validate_chain(without(blocks, at))


def test_a_block_of_another_dataset_does_not_fit() -> None:
    mine, others = chain_of(ROOT, SetInfo("x")), chain_of(ROOT, SetInfo("y"), SetInfo("z"))
    with pytest.raises(ChainError) as caught:
        validate_chain([*mine, others[2]])
    assert caught.value.rule == "P0"


def test_a_state_stays_as_it_was_when_it_is_extended_twice() -> None:
    state = state_after(ROOT, push_source("a"))
    one, other = (state.apply(next_block(state, push_source(name))) for name in ("b", "c"))
    assert set(state.push_sources) == {"a"}
    assert set(one.push_sources) == {"a", "b"}
    assert set(other.push_sources) == {"a", "c"}


@given(st.lists(st.sampled_from("abcdefgh"), max_size=40))
def test_push_sources_behave_like_a_dictionary(names: list[str]) -> None:
    sources, model = ChainState.empty().push_sources, dict[str, AddPushSource]()
    for position, name in enumerate(names):
        source = push_source(name, SELECT if position % 2 else None)
        sources, model = sources.with_source(source), {**model, name: source}
    assert dict(sources) == model
    assert len(sources) == len(model)
    assert bool(sources) == bool(model)


def test_long_chains_of_sources_do_not_become_slow() -> None:
    state, started = ChainState.empty(), time.perf_counter()
    for number in range(20_000):
        state = state.apply_block(object_hash(number), next_block(state, push_source(str(number))).block)
    assert len(state.push_sources) == 20_000
    assert time.perf_counter() - started < 20


def test_system_times_with_the_same_second_are_compared_by_nanoseconds() -> None:
    state = state_after(ROOT)
    later = state.apply(next_block(state, SetInfo(), system_time=replace(instant(10), nanosecond=5)))
    with pytest.raises(ChainError) as caught:
        validate_chain([next_block(later, SetInfo(), system_time=replace(instant(10), nanosecond=4))], later)
    assert caught.value.rule == "P2"
