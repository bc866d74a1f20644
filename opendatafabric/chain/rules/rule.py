"""What a rule of the chain is: an id, the reference's name for breaking it, and one function that judges one block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

from opendatafabric.chain.state import ChainState
from opendatafabric.metadata.block import MetadataBlock
from opendatafabric.metadata.events import MetadataEvent, UnknownEvent

E = TypeVar("E", covariant=True)


@dataclass(frozen=True, slots=True)
class Candidate(Generic[E]):
    """A block about to follow a chain: ``event`` is the block's, with its type known."""

    state: ChainState
    block: MetadataBlock
    event: E


AnyCandidate = Candidate[MetadataEvent | UnknownEvent]


@dataclass(frozen=True, slots=True)
class Broken:
    """How a block breaks a rule; becomes a ``ChainError``."""

    message: str
    expected: object = None
    found: object = None
    hint: str | None = None


class Verdict(Enum):
    """What a rule may say besides ``Broken`` and nothing."""

    ACCEPTED = "accepted"
    """The rules that follow for this kind of event need not be asked."""


class Effect(Enum):
    """What a rule can do to a block."""

    REFUSES = "refuses"
    ACCEPTS = "accepts"
    """Ends the checking early: the rules behind it are not asked."""
    WARNS = "warns"


class ErrorName(Enum):
    """The reference's names for a broken rule."""

    FIRST_BLOCK_MUST_BE_SEED = "FirstBlockMustBeSeed"
    APPENDING_SEED_BLOCK_TO_NON_EMPTY_CHAIN = "AppendingSeedBlockToNonEmptyChain"
    PREV_BLOCK_NOT_FOUND = "PrevBlockNotFound"
    SEQUENCE_INTEGRITY = "SequenceIntegrity"
    SYSTEM_TIME_IS_NOT_MONOTONIC = "SystemTimeIsNotMonotonic"
    WATERMARK_IS_NOT_MONOTONIC = "WatermarkIsNotMonotonic"
    OFFSETS_ARE_NOT_SEQUENTIAL = "OffsetsAreNotSequential"
    INVALID_EVENT = "InvalidEvent"
    NO_OP_EVENT = "NoOpEvent"
    NONE = "–"


Outcome = Broken | Verdict | None


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: ``applies_to`` names the kinds of event it judges, nothing = every kind, unknown ones too."""

    id: str
    error: ErrorName
    section: str
    """Heading of the ODF specification that the rule is about."""
    applies_to: tuple[type, ...]
    check: Callable[[Candidate[Any]], Outcome]
    effect: Effect = Effect.REFUSES
    strict: bool = False
    """Not checked by the reference."""

    @property
    def summary(self) -> str:
        """What the rule demands, in a sentence."""
        return " ".join((self.check.__doc__ or "").split("\n\n")[0].split())

    def applies(self, kind: type) -> bool:
        """Whether events of ``kind`` are judged by this rule."""
        return not self.applies_to or kind in self.applies_to
