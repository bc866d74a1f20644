"""What a conversation may ask of the world, and how a script asks.

A script is a generator: it yields an effect and is sent the answer. ``perform`` gives the answer its type. The effects
of the wire are the same for all four ends and stand here; those that need a dataset stand beside the script that uses
them. Errors of the world are thrown into the script, which may turn them into messages.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sync.smart.messages import Message

A = TypeVar("A")
R = TypeVar("R")
M = TypeVar("M", bound=Message)


class Effect(Generic[A]):
    """Something a script wants done; ``A`` is the type of the answer."""

    __slots__ = ()


Script = Generator[Effect[Any], Any, R]


@dataclass(frozen=True, slots=True)
class Send(Effect[None]):
    """Put a message on the wire."""

    message: Message


@dataclass(frozen=True, slots=True)
class Receive(Effect[M]):
    """Wait for the message that is due; ``TransferRejected`` when the peer refuses instead."""

    expected: type[M]


@dataclass(frozen=True, slots=True)
class ReceiveWithin(Effect[M | None]):
    """As ``Receive``, but ``None`` after so many seconds of silence."""

    expected: type[M]
    timeout_s: float


@dataclass(frozen=True, slots=True)
class ReceiveOrEnd(Effect[M | None]):
    """As ``Receive`` where the peer may as well leave: ``None`` when it closed."""

    expected: type[M]


@dataclass(frozen=True, slots=True)
class Close(Effect[None]):
    """End the conversation; ``reason`` has at most 123 bytes."""

    code: int
    reason: str


def perform(effect: Effect[A]) -> Script[A]:
    """Ask for one effect and return its answer."""
    answer: A = yield effect
    return answer
