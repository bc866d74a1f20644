"""Runs a script over a channel: wire effects here, all others by the world that is given.

Errors of the world are thrown into the script at the place that asked. When the peer closes or breaks the protocol, the
script is told by an error too, except where it waits for exactly that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

from opendatafabric.errors import OdfError, PeerUnavailable, ProtocolViolation, TransferRejected
from sync.smart.channels import Channel, ChannelClosed
from sync.smart.effects import Close, Effect, Receive, ReceiveOrEnd, ReceiveWithin, Script, Send
from sync.smart.messages import Message, PullMetadata, PushMetadata
from sync.smart.refusals import error_of
from sync.smart.wire import read_message, read_refusal, write_message

R = TypeVar("R")
M = TypeVar("M", bound=Message)
World = Mapping[type[Any], Callable[[Any], Awaitable[Any]]]
"""Who performs which effect."""

_HEAVY: Final = (PushMetadata, PullMetadata)
"""Messages worth a hop to a thread."""

_HEAVY_CHARS: Final = 256 * 1024
_BROKEN: Final = frozenset({1001, 1006, 1012, 1013})
"""Closes that say nothing about the transfer: going away, lost, restarting, try again later (RFC 6455, 7.4.1)."""


class ConversationBroken(PeerUnavailable):
    """The connection of a conversation was lost; another one may come to its end."""

    code = "conversation-broken"


class Conversation:
    """The wire side of one conversation. One receive is under way at most; it outlives a time-out.

    ``patience_s`` is the longest silence of a peer whose turn it is; without it only the channel ends one.
    """

    def __init__(self, channel: Channel, *, patience_s: float | None = None) -> None:
        self.channel = channel
        self._patience_s = patience_s
        self._receiving: asyncio.Task[str] | None = None

    async def send(self, message: Message) -> None:
        heavy = isinstance(message, _HEAVY)
        text = await asyncio.to_thread(write_message, message) if heavy else write_message(message)
        await self.channel.send(text)

    async def receive(self, expected: type[M]) -> M:
        """The message that is due; a refusal in its place is raised as the error it says."""
        text = await self.text()
        refused = read_refusal(text) if text.startswith('{"Err"') or len(text) < _HEAVY_CHARS else None
        if refused is not None:
            raise error_of(refused)
        if len(text) >= _HEAVY_CHARS:
            return await asyncio.to_thread(read_message, text, expected)
        return read_message(text, expected)

    async def receive_within(self, expected: type[M], timeout_s: float) -> M | None:
        await asyncio.wait({self._task()}, timeout=timeout_s)
        return await self.receive(expected) if self._task().done() else None

    async def receive_or_end(self, expected: type[M]) -> M | None:
        try:
            return await self.receive(expected)
        except ChannelClosed:
            return None

    async def text(self) -> str:
        """The next text."""
        task = self._task()
        try:
            async with asyncio.timeout(self._patience_s):
                return await asyncio.shield(task)
        except TimeoutError:
            raise PeerUnavailable(f"the peer has said nothing for {self._patience_s} seconds") from None
        finally:
            if task.done():
                self._receiving = None

    def peek(self) -> asyncio.Task[str]:
        """The receive that is under way, for waiting on several things at once."""
        return self._task()

    async def stop(self) -> None:
        """Give up listening."""
        if self._receiving is not None:
            self._receiving.cancel()
            await asyncio.gather(self._receiving, return_exceptions=True)

    def _task(self) -> asyncio.Task[str]:
        if self._receiving is None:
            self._receiving = asyncio.create_task(self.channel.receive())
        return self._receiving


async def run_script(script: Script[R], conversation: Conversation, world: World) -> R:
    """Drive ``script`` to its end; what it returns.

    Raises:
        PeerUnavailable, ProtocolViolation, TransferRejected and whatever the script lets pass.
    """
    performers: World = {
        Send: lambda effect: conversation.send(effect.message),
        Receive: lambda effect: conversation.receive(effect.expected),
        ReceiveWithin: lambda effect: conversation.receive_within(effect.expected, effect.timeout_s),
        ReceiveOrEnd: lambda effect: conversation.receive_or_end(effect.expected),
        Close: lambda effect: conversation.channel.close(effect.code, effect.reason),
        **world,
    }
    try:
        return await _drive(script, performers)
    finally:
        script.close()
        await conversation.stop()


async def _drive(script: Script[R], performers: World) -> R:
    try:
        effect: Effect[Any] = next(script)
        while True:
            try:
                answer = await performers[type(effect)](effect)
            except ChannelClosed as closed:
                effect = script.throw(_closed_early(closed))
            except OdfError as error:
                effect = script.throw(error)
            else:
                effect = script.send(answer)
    except StopIteration as stop:
        result: R = stop.value
        return result


def _closed_early(closed: ChannelClosed) -> OdfError:
    refused = read_refusal(closed.reason)
    if refused is not None:
        return error_of(refused)
    if closed.code in _BROKEN:
        return ConversationBroken(f"the conversation broke off: {closed.reason[:200] or 'the connection was lost'}")
    if closed.reason:
        return TransferRejected(f"the peer ended the conversation: {closed.reason[:200]}", found=f"close {closed.code}")
    return ProtocolViolation("the peer ended the conversation early", found=f"close {closed.code}")
