"""A server that answers with other things than it should: the client says what is wrong and keeps what it has."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from opendatafabric.codec.block_pack import pack_blocks
from opendatafabric.errors import (
    ChainError,
    ChainsDiverged,
    HashMismatch,
    LimitExceeded,
    OdfError,
    ProtocolViolation,
    RefConflict,
    TransferRejected,
)
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.multihash import Multihash
from storage.http.refs import HttpRefStore
from sync import pull, push
from sync.plan import plan_transfer
from sync.smart.channels import memory_pair
from sync.smart.driver import Conversation
from sync.smart.messages import (
    Message,
    MetadataBlocksBatch,
    ObjectFileReference,
    PullAcceptance,
    PullAccepted,
    PullMetadata,
    PullStrategies,
    PullStrategy,
    PushObjectsAcceptance,
    PushObjectsAccepted,
    PushStrategy,
    TransferUrl,
    WirePlan,
)
from sync.smart.wire import write_message
from tests.storage.chains import ChainBuilder
from tests.sync.scenarios.stage import Stage, assert_holds, fill, history
from tests.sync.scenarios.talk import OK, files_of

CONFIRMED = [OK, OK, '{"Ok":{"object_transfer_strategies":[]}}', "{}"]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the server says in the next conversation, whatever it hears; then it is gone."""
    said: list[str] = []

    @asynccontextmanager
    async def opened(*_: Any) -> AsyncIterator[Conversation]:
        here, there = memory_pair()
        for text in said:
            await there.send(text)
        await there.close(1006, "")
        yield Conversation(here)

    for module in (pull, push):
        monkeypatch.setattr(module, "open_conversation", opened)
    return said


def accepted(blocks: Sequence[HashedBlock]) -> str:
    return write_message(PullAccepted(Ok=PullAcceptance(transfer_plan=WirePlan.of(plan_transfer(blocks)))))


def pack(blocks: Sequence[HashedBlock]) -> str:
    payload = pack_blocks((block.hash, block.raw) for block in blocks)
    return write_message(PullMetadata(blocks=MetadataBlocksBatch(num_blocks=len(blocks), payload=payload)))


def strategies(stage: Stage, blocks: Sequence[HashedBlock]) -> str:
    rows = tuple(
        PullStrategy(object_file=ObjectFileReference.of(file), download_from=stage.server.download_url(file))
        for file in files_of(blocks)
    )
    return write_message(PullStrategies(object_transfer_strategies=rows))


def swapped(builder: ChainBuilder) -> list[HashedBlock]:
    return [*builder.blocks[:-2], builder.blocks[-1], builder.blocks[-2]]


@pytest.mark.parametrize(
    ("announced", "sent", "error"),
    [
        pytest.param(2, lambda builder: builder.blocks, LimitExceeded, id="more blocks than announced"),
        pytest.param(9, swapped, ChainError, id="blocks in another order"),
        pytest.param(9, lambda builder: builder.blocks[1:], ChainsDiverged, id="a chain without its seed"),
        pytest.param(9, lambda builder: builder.blocks[:1] + builder.blocks[2:], ChainError, id="a block left out"),
    ],
)
async def test_a_pack_that_does_not_hold(
    stage: Stage, answers: list[str], announced: int, sent: Any, error: type[OdfError]
) -> None:
    builder = history()
    await fill(stage.remote, builder)
    answers += [accepted((builder.blocks * 2)[:announced]), pack(sent(builder))]
    with pytest.raises(error):
        await stage.pull()
    assert await stage.local.head() is None


async def test_a_chain_that_is_not_ours_unasked(stage: Stage, answers: list[str]) -> None:
    ours, theirs = history(), history().fork(2)
    theirs.info("other")
    await fill(stage.local, ours)
    await fill(stage.remote, theirs)
    answers += [accepted(theirs.blocks[2:]), pack(theirs.blocks[2:])]
    with pytest.raises(ChainsDiverged):
        await stage.pull()
    await assert_holds(stage.local, ours)


@pytest.mark.parametrize("offered", [0, 1, 4])
async def test_addresses_of_other_objects_than_asked_for(stage: Stage, answers: list[str], offered: int) -> None:
    builder = history()
    other = history(slices=3)
    await fill(stage.remote, builder)
    answers += [accepted(builder.blocks), pack(builder.blocks), strategies(stage, other.blocks[: 2 + offered])]
    with pytest.raises(ProtocolViolation, match="other objects"):
        await stage.pull()
    assert await stage.local.head() is None


HOSTILE = ["", "null", '{"Err":{"Internal":5}}', '{"Ok":{"transfer_plan":{}}}', '{"blocks":{}}', '{"a":' * 2_000]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("step", range(3))
async def test_nonsense_at_any_step_of_a_pull(stage: Stage, answers: list[str], text: str, step: int) -> None:
    builder = history()
    await fill(stage.remote, builder)
    answers += [*[accepted(builder.blocks), pack(builder.blocks)][:step], text]
    with pytest.raises(ProtocolViolation):
        await stage.pull()
    assert await stage.local.head() is None


@pytest.mark.parametrize("step", range(4))
@pytest.mark.parametrize("text", ["", "null", '{"Err":{"Internal":5}}'])
async def test_nonsense_at_any_step_of_a_push(stage: Stage, answers: list[str], text: str, step: int) -> None:
    await fill(stage.local, history(slices=0))
    answers += [*CONFIRMED[:step], text]
    with pytest.raises(ProtocolViolation):
        await stage.push()


@pytest.mark.parametrize("step", range(4))
async def test_a_refusal_at_any_step_of_a_push(stage: Stage, answers: list[str], step: int) -> None:
    await fill(stage.local, history(slices=0))
    refusal = '{"Err":{"Internal":{"phase":{"Push":"CompleteRequest"},"error_message":"no room"}}}'
    answers += [*CONFIRMED[:step], refusal]
    with pytest.raises(TransferRejected, match="no room"):
        await stage.push()


class Confirming:
    """Agrees to a push without looking, each answer in its time."""

    peer_reads_base64 = False

    def __init__(self) -> None:
        self._answers = dict(zip((1, 2, 3, 5), CONFIRMED, strict=True))
        self._ready: asyncio.Queue[str] = asyncio.Queue()
        self._heard = 0

    async def receive(self) -> str:
        return await self._ready.get()

    async def send(self, text: str) -> None:
        self._heard += 1
        if self._heard in self._answers:
            self._ready.put_nowait(self._answers[self._heard])

    async def close(self, code: int, reason: str) -> None:
        assert code == 1000


@pytest.mark.parametrize("moves", [False, True])
async def test_a_confirmation_before_the_head_has_moved(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, moves: bool
) -> None:
    builder = history(slices=0)
    await fill(stage.local, builder)
    heads: Iterator[Multihash | None] = iter([None, None, None, builder.head if moves else None])

    async def read(_refs: HttpRefStore, name: str) -> Multihash | None:
        return next(heads) if name == "head" else None

    @asynccontextmanager
    async def opened(*_: Any) -> AsyncIterator[Conversation]:
        yield Conversation(Confirming())

    monkeypatch.setattr(HttpRefStore, "read", read)
    monkeypatch.setattr(push, "open_conversation", opened)
    monkeypatch.setattr(push, "_COMMIT_WAITS_S", (0.0, 0.0))
    if moves:
        assert (await stage.push()).new_head == builder.head
    else:
        with pytest.raises(RefConflict, match="another one"):
            await stage.push()


async def test_a_block_under_another_name(stage: Stage, answers: list[str]) -> None:
    builder = history(slices=0)
    await fill(stage.remote, builder)
    lying = pack_blocks([(builder.blocks[1].hash, builder.blocks[0].raw)])
    message: Message = PullMetadata(blocks=MetadataBlocksBatch(num_blocks=1, payload=lying))
    answers += [accepted(builder.blocks), write_message(message)]
    with pytest.raises(HashMismatch):
        await stage.pull()


def upload_strategies(blocks: Sequence[HashedBlock], *, url: TransferUrl | None) -> str:
    rows = tuple(
        PushStrategy(object_file=ObjectFileReference.of(file), push_strategy="HttpUpload", upload_to=url)
        for file in files_of(blocks)
    )
    return write_message(PushObjectsAccepted(Ok=PushObjectsAcceptance(object_transfer_strategies=rows)))


async def test_uploads_of_objects_that_were_not_offered(stage: Stage, answers: list[str]) -> None:
    """Nobody gets an object out of us that is not part of the push."""
    builder = history(slices=1)
    await fill(stage.remote, builder)
    builder.data(b"new")
    await fill(stage.local, builder)
    url = TransferUrl(url=stage.server.address + "data/elsewhere")
    answers += [OK, OK, upload_strategies(builder.blocks, url=url)]
    with pytest.raises(ProtocolViolation, match="other objects"):
        await stage.push()
    assert stage.server.requests == []


async def test_an_upload_without_an_address(stage: Stage, answers: list[str]) -> None:
    builder = history(slices=1)
    await fill(stage.local, builder)
    answers += [OK, OK, upload_strategies(builder.blocks, url=None)]
    with pytest.raises(ProtocolViolation, match="no address"):
        await stage.push()
