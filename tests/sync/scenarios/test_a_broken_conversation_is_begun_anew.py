"""The connection is lost once, after any number of texts on either side: the transfer itself goes on to its end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from opendatafabric import limits
from opendatafabric.errors import OdfError, PeerUnavailable
from storage import backoff
from storage.dataset import Dataset
from sync.smart.channels import Channel, ChannelClosed
from sync.smart.driver import ConversationBroken
from tests.sync.scenarios.stage import Cutter, Stage, World, assert_holds, every_cut, fill, history

pytestmark = pytest.mark.slow


async def push_whole(cutter: Cutter) -> None:
    world, builder = cutter.world, history()
    for _ in every_cut(cutter):
        await world.begin_again()
        await fill(world.local, builder)
        result = await world.push()
        assert (result.old_head, result.new_head, result.plan.num_blocks) == (None, builder.head, 5)
        await assert_holds(world.remote, builder)


async def pull_whole(cutter: Cutter) -> None:
    world, builder = cutter.world, history()
    for _ in every_cut(cutter):
        await world.begin_again()
        await fill(world.remote, builder)
        result = await world.pull()
        assert (result.old_head, result.new_head, result.plan.num_blocks) == (None, builder.head, 5)
        await assert_holds(world.local, builder)


Transfer = Callable[[Cutter], Awaitable[None]]


@pytest.mark.parametrize("transfer", [push_whole, pull_whole])
async def test_lost_at_the_client(world: World, transfer: Transfer, monkeypatch: pytest.MonkeyPatch) -> None:
    await transfer(Cutter(world, "client", monkeypatch, once=True))


@pytest.mark.parametrize("transfer", [push_whole, pull_whole])
async def test_lost_at_the_server(stage: Stage, transfer: Transfer, monkeypatch: pytest.MonkeyPatch) -> None:
    await transfer(Cutter(stage, "server", monkeypatch, once=True))


async def test_objects_that_have_arrived_are_not_sent_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    builder = history()
    await fill(world.local, builder)
    cutter = Cutter(world, "client", monkeypatch, once=True)
    cutter.arm(7)  # right after all uploads
    result = await world.push()
    assert cutter.cut is not None
    assert cutter.cut.was_cut
    assert result.objects_moved == 2
    assert len(world.objects_requested) == 2
    await assert_holds(world.remote, builder)


class Deaf:
    """Loses every conversation at its first text."""

    conversations = 0

    def __init__(self, channel: Channel) -> None:
        Deaf.conversations += 1
        self.peer_reads_base64 = channel.peer_reads_base64
        self.close = channel.close

    async def receive(self) -> str:
        await self.close(1012, "restarting")
        raise ChannelClosed(1006, "")

    async def send(self, text: str) -> None:
        raise ChannelClosed(1006, "")


async def test_a_server_that_keeps_losing_conversations_is_given_up(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backoff, "WAIT_S_MAX", 0.0)
    monkeypatch.setattr(Deaf, "conversations", 0)
    await fill(stage.local, history())
    stage.server.wrap = Deaf
    with pytest.raises(ConversationBroken, match="restarting"):
        await stage.push()
    assert Deaf.conversations == limits.CONVERSATIONS_MAX
    assert await stage.remote.head() is None


async def test_a_refusal_is_not_asked_for_twice(stage: Stage) -> None:
    await fill(stage.local, history())
    asked = 0

    async def find() -> Dataset | None:
        nonlocal asked
        asked += 1
        raise PeerUnavailable("the catalog is away")

    stage.server.find = find  # type: ignore[method-assign]
    with pytest.raises(OdfError, match="the catalog is away"):
        await stage.push()
    assert asked == 1
