"""Conversations of the stock client with the stock server, as they were recorded (see ``tests/vectors/README.md``)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from opendatafabric.codec.block_pack import unpack_blocks
from opendatafabric.multihash import Multihash
from sync.smart import messages
from sync.smart.messages import Message
from tests.vectors.load import FOLDER

CLIENT, SERVER = "c>s", "s>c"
PULLS = ("01-smart-pull-new", "02-smart-pull-up-to-date", "03-smart-pull-incremental", "12-pull-private-clone")
PUSHES = ("09-push-new", "13-push-incremental", "16-push-diverged-force")

_PULL_TYPES = (
    messages.PullRequest,
    messages.PullAccepted,
    messages.PullMetadataRequest,
    messages.PullMetadata,
    messages.PullObjectsRequest,
    messages.PullStrategies,
)
_PUSH_TYPES = (
    messages.PushRequest,
    messages.Accepted,
    messages.PushMetadata,
    messages.Accepted,
    messages.PushObjectsRequest,
    messages.PushObjectsAccepted,
    messages.Progress,
    messages.PushComplete,
    messages.PushConfirmed,
)


@dataclass(frozen=True)
class Line:
    """One text of a conversation and who said it."""

    direction: str
    text: str


@cache
def conversation(name: str) -> tuple[Line, ...]:
    """The texts that went over the socket, in order."""
    rows = map(json.loads, (FOLDER / "transcripts" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines())
    return tuple(Line(row["dir"], row["text"]) for row in rows if row["kind"] == "ws-text")


def said_by(name: str, direction: str) -> list[str]:
    return [line.text for line in conversation(name) if line.direction == direction]


def typed(name: str) -> Iterator[tuple[str, type[Message]]]:
    """Every text with the message it is by its place."""
    types = _PULL_TYPES if name in PULLS else _PUSH_TYPES
    texts = [line.text for line in conversation(name)]
    return zip(texts, types, strict=False)


def comparable(text: str) -> Any:
    """The JSON of a text in the order of its fields, with a pack replaced by the blocks it holds."""
    return _ordered(json.loads(text))


def blocks_of(name: str) -> list[tuple[Multihash, bytes]]:
    """The blocks that travelled, oldest first."""
    batch = next(value for text in conversation(name) if (value := _batch(json.loads(text.text))) is not None)
    return list(unpack_blocks(bytes(batch["payload"])))


def _batch(value: Any) -> dict[str, Any] | None:
    found: dict[str, Any] | None = value.get("blocks") or value.get("new_blocks")
    return found


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return [(name, _unpacked(item) if name == "payload" else _ordered(item)) for name, item in value.items()]
    return [_ordered(item) for item in value] if isinstance(value, list) else value


def _unpacked(payload: list[int]) -> list[tuple[str, bytes]]:
    return [(str(name), raw) for name, raw in unpack_blocks(bytes(payload))]
