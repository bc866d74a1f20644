"""A client that sends other things than it should is refused with a reason; the dataset is exactly what it was."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from opendatafabric.codec.block_codec import encode_block
from opendatafabric.codec.block_pack import pack_blocks
from opendatafabric.errors import (
    ChainError,
    ChainsDiverged,
    HashMismatch,
    LimitExceeded,
    MalformedBlock,
    MalformedPack,
    ObjectNotFound,
    OdfError,
    ProtocolViolation,
    RefConflict,
    SizeMismatch,
)
from opendatafabric.layout import data_key
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.multihash import physical_hash
from storage.dataset import Dataset
from sync.smart.driver import ConversationBroken
from sync.smart.messages import MetadataBlocksBatch, Progress, PushComplete, PushMetadata
from tests.storage.chains import ChainBuilder
from tests.sync.scenarios.stage import assert_holds, fill, history
from tests.sync.scenarios.talk import OK, Talk, asking, files_of, opening, packed, pushing, whole_push
from tests.sync.smart_server import memory_dataset, stored


@asynccontextmanager
async def unchanged(builder: ChainBuilder) -> AsyncIterator[tuple[Dataset, Talk]]:
    """A push to a dataset that must be the same behind it, but for objects nothing refers to."""
    dataset = memory_dataset()
    await fill(dataset, builder)
    before = {key: data for key, data in stored(dataset).items() if key.startswith("blocks/")}
    async with pushing(dataset) as talk:
        yield dataset, talk
    await assert_holds(dataset, builder)
    assert {key: data for key, data in stored(dataset).items() if key.startswith("blocks/")} == before


def further(*texts: str) -> tuple[ChainBuilder, list[HashedBlock]]:
    """What the server has, and more blocks."""
    base = history()
    more = base.fork(5)
    return base, [more.info(text) for text in texts]


async def refused_pack(base: ChainBuilder, blocks: Sequence[HashedBlock], message: PushMetadata) -> OdfError:
    async with unchanged(base) as (_, talk):
        await talk.say(opening(blocks, head=base.head), message)
        assert await talk.hear() == OK
        outcome = await talk.refused()
        assert (outcome.new_head, outcome.expected_head) == (None, base.head)
        assert outcome.error is not None
        return outcome.error


@pytest.mark.parametrize(("announced", "batch"), [(1, 2), (3, 2), (2, 1), (2, 3), (0, 0), (0, 2), (2**64 - 1, 2)])
async def test_another_number_of_blocks_than_announced(announced: int, batch: int) -> None:
    base, blocks = further("a", "b")
    async with unchanged(base) as (_, talk):
        await talk.say(opening(blocks, head=base.head, num_blocks=announced), packed(blocks, num_blocks=batch))
        assert isinstance((await talk.refused()).error, ProtocolViolation | LimitExceeded)


@pytest.mark.parametrize("announced", [1, 3])
async def test_a_pack_that_holds_another_number_than_both_say(announced: int) -> None:
    base, blocks = further("a", "b")
    async with unchanged(base) as (_, talk):
        await talk.say(opening(blocks, head=base.head, num_blocks=announced), packed(blocks, num_blocks=announced))
        assert isinstance((await talk.refused()).error, ProtocolViolation | LimitExceeded)


async def test_blocks_in_the_wrong_order() -> None:
    base, blocks = further("a", "b")
    error = await refused_pack(base, blocks, packed(blocks[::-1]))
    assert isinstance(error, ChainsDiverged)


async def test_a_block_left_out() -> None:
    base, blocks = further("a", "b", "c")
    error = await refused_pack(base, blocks[:2], packed([blocks[0], blocks[2]]))
    assert isinstance(error, ChainError)


async def test_a_block_that_breaks_a_rule() -> None:
    base, blocks = further("a")
    gap = encode_block(replace(blocks[0].block, sequence_number=99))
    assert isinstance(await refused_pack(base, blocks, packed([gap])), ChainError)


async def test_a_block_under_another_name() -> None:
    base, blocks = further("a")
    forged = replace(blocks[0], hash=physical_hash(b"other"))
    assert isinstance(await refused_pack(base, blocks, packed([forged])), HashMismatch)


async def test_a_block_laid_out_in_another_way() -> None:
    base, blocks = further("a")
    padded = blocks[0].raw + bytes(4)
    error = await refused_pack(base, blocks, packed([HashedBlock(physical_hash(padded), padded, blocks[0].block)]))
    assert isinstance(error, HashMismatch)
    assert "laid out" in error.message


@pytest.mark.parametrize("raw", [b"", b"no block", bytes(100)])
async def test_something_that_is_no_block(raw: bytes) -> None:
    base, blocks = further("a")
    error = await refused_pack(base, blocks, packed([HashedBlock(physical_hash(raw), raw, blocks[0].block)]))
    assert isinstance(error, MalformedBlock)


@pytest.mark.parametrize("payload", [b"no gzip", pack_blocks(()), pack_blocks(()) * 2])
async def test_something_that_is_no_pack(payload: bytes) -> None:
    base, blocks = further("a")
    message = PushMetadata(new_blocks=MetadataBlocksBatch(num_blocks=1, payload=payload))
    assert isinstance(await refused_pack(base, blocks, message), MalformedPack)


async def test_a_new_dataset_without_its_seed() -> None:
    dataset = memory_dataset()
    _, blocks = further("a")
    async with pushing(dataset) as talk:
        await talk.say(opening(blocks), packed(blocks))
        assert isinstance((await talk.refused()).error, ChainError)
    assert stored(dataset) == {}


async def test_a_stale_head() -> None:
    base, blocks = further("a")
    stale = base.blocks[2].hash
    for force in (False, True):
        async with unchanged(base) as (_, talk):
            await talk.say(opening(blocks, head=stale, force=force))
            assert await talk.hear() == (
                f'{{"Err":{{"InvalidHead":{{"actual_head":"{stale}","expected_head":"{base.head}"}}}}}}'
            )
            outcome = await talk.refused()
            assert isinstance(outcome.error, RefConflict)
            assert outcome.expected_head == base.head


async def test_blocks_upon_something_unknown_with_force() -> None:
    base, _ = further()
    stranger = base.fork(3)
    stranger.info("elsewhere")
    blocks = [stranger.info("unknown")]
    async with unchanged(base) as (_, talk):
        await talk.say(opening(blocks, head=base.head, force=True), packed(blocks))
        assert (await talk.refused()).error is not None


async def test_an_object_that_no_block_names() -> None:
    base, blocks = further("a")
    async with unchanged(base) as (_, talk):
        await talk.say(opening(blocks, head=base.head), packed(blocks), asking(files_of(base.blocks)))
        assert isinstance((await talk.refused()).error, ProtocolViolation)


async def test_objects_that_never_came() -> None:
    base = history()
    more = base.fork(5)
    more.data(b"never sent")
    blocks = more.blocks[5:]
    async with unchanged(base) as (_, talk):
        await talk.say(*whole_push(blocks, head=base.head))
        assert isinstance((await talk.refused()).error, ObjectNotFound)


async def test_objects_that_were_never_asked_for_and_never_came() -> None:
    base = history()
    more = base.fork(5)
    more.data(b"never named")
    blocks = more.blocks[5:]
    async with unchanged(base) as (_, talk):
        await talk.say(opening(blocks, head=base.head), packed(blocks), asking([]))
        await talk.say(Progress(details="Complete"), PushComplete())
        assert isinstance((await talk.refused()).error, ObjectNotFound)


async def test_an_object_of_another_size_than_its_block_says() -> None:
    base = history()
    more = base.fork(5)
    more.data(b"right")
    blocks = more.blocks[5:]
    async with unchanged(base) as (dataset, talk):
        await dataset.writable_objects().put(data_key(physical_hash(b"right")), b"wrong size")
        await talk.say(*whole_push(blocks, head=base.head))
        assert isinstance((await talk.refused()).error, SizeMismatch)


NO_MESSAGE = ["", "null", "[]", '{"Err":{}}', "\ud800"]
OTHER_MESSAGE = ['{"details":"Never"}', '{"object_files":[{}],"is_truncated":0}']
HOSTILE = [
    *((step, text) for step in range(5) for text in NO_MESSAGE),
    *(
        (step, text) for step in range(4) for text in OTHER_MESSAGE
    ),  # the fifth is empty, and any object passes for that
]


@pytest.mark.parametrize(("step", "text"), HOSTILE)
async def test_nonsense_at_any_step(step: int, text: str) -> None:
    base, blocks = further("a")
    async with unchanged(base) as (_, talk):
        await talk.say(*whole_push(blocks, head=base.head)[:step], text)
        outcome = await talk.refused()
        assert isinstance(outcome.error, OdfError)
        assert outcome.new_head is None


@pytest.mark.parametrize("step", range(5))
async def test_a_client_that_vanishes_at_any_step(step: int) -> None:
    base, blocks = further("a")
    async with unchanged(base) as (_, talk):
        await talk.say(*whole_push(blocks, head=base.head)[:step])
        await talk.channel.close(1006, "")
        outcome = await talk.served
        assert isinstance(outcome.error, ConversationBroken)
        assert outcome.new_head is None


async def test_a_client_that_vanishes_after_its_last_word_has_pushed() -> None:
    base, blocks = further("a")
    dataset = memory_dataset()
    await fill(dataset, base)
    async with pushing(dataset) as talk:
        await talk.say(*whole_push(blocks, head=base.head))
        await talk.channel.close(1006, "")
        assert (await talk.served).new_head == blocks[-1].hash == await dataset.head()
