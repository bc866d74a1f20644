"""What a script hears of its peer's end and silence."""

from __future__ import annotations

import pytest

from opendatafabric.errors import OdfError, PeerUnavailable, ProtocolViolation, TransferRejected
from sync.smart.channels import memory_pair
from sync.smart.driver import Conversation, ConversationBroken, run_script
from sync.smart.effects import Receive, ReceiveOrEnd, ReceiveWithin, Script, Send, perform
from sync.smart.messages import Accepted, Empty, ProgressRequest

ACCEPTED = '{"Ok":{}}'


def waiting() -> Script[str]:
    yield from perform(Receive(Accepted))
    return "accepted"


async def test_a_peer_that_says_nothing_is_not_waited_for_for_ever() -> None:
    here, _ = memory_pair()
    with pytest.raises(PeerUnavailable, match="said nothing"):
        await run_script(waiting(), Conversation(here, patience_s=0.01), {})


async def test_patience_is_for_each_message() -> None:
    here, there = memory_pair()
    await there.send(ACCEPTED)
    assert await run_script(waiting(), Conversation(here, patience_s=5), {}) == "accepted"


@pytest.mark.parametrize(
    ("code", "reason", "error"),
    [
        (1000, "", ProtocolViolation),
        (1008, "", ProtocolViolation),
        (1008, "too long a silence", TransferRejected),
        (1011, "", ProtocolViolation),
        (1011, "no JSON", TransferRejected),
        (1011, '{"Err":{"Internal":{"phase":{"Push":"InitialRequest"},"error_message":"x"}}}', TransferRejected),
        (1001, "the server stops", ConversationBroken),
        (1006, "", ConversationBroken),
        (1012, "", ConversationBroken),
        (1013, "", ConversationBroken),
    ],
)
async def test_what_a_close_means(code: int, reason: str, error: type[OdfError]) -> None:
    here, there = memory_pair()
    await there.close(code, reason)
    with pytest.raises(OdfError) as raised:
        await run_script(waiting(), Conversation(here), {})
    assert type(raised.value) is error


async def test_where_leaving_is_allowed_it_is_no_error() -> None:
    here, there = memory_pair()
    await there.close(1000, "")

    def allowing() -> Script[bool]:
        return (yield from perform(ReceiveOrEnd(Accepted))) is None

    assert await run_script(allowing(), Conversation(here), {})


async def test_a_script_may_go_on_after_an_error() -> None:
    here, there = memory_pair()
    await there.send("nonsense")

    def stubborn() -> Script[str]:
        try:
            yield from perform(Receive(Accepted))
        except ProtocolViolation:
            yield from perform(Send(Accepted(Ok=Empty())))
        return "went on"

    assert await run_script(stubborn(), Conversation(here), {}) == "went on"
    assert await there.receive() == ACCEPTED


async def test_a_message_that_comes_after_a_time_out_is_not_lost() -> None:
    here, there = memory_pair()

    def asking() -> Script[list[bool]]:
        early = yield from perform(ReceiveWithin(ProgressRequest, 0.001))
        yield from perform(Send(Empty()))
        late = yield from perform(ReceiveWithin(ProgressRequest, 5))
        return [early is None, late is not None]

    class Answering(Conversation):
        async def send(self, message: object) -> None:
            await there.send("{}")

    assert await run_script(asking(), Answering(here), {}) == [True, True]
