"""One end of a recorded conversation: says what was recorded and keeps what our end answers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from sync.smart.channels import ChannelClosed
from tests.sync.smart.recorded import Line, comparable


class RecordedPeer:
    """A channel to a peer that follows the record. Our texts must come in the places where the record has them."""

    def __init__(self, lines: Sequence[Line], *, we_are: str) -> None:
        self._lines = list(lines)
        self._we_are = we_are
        self.peer_reads_base64 = False
        self.closed: tuple[int, str] | None = None

    async def receive(self) -> str:
        await asyncio.sleep(0)
        if not self._lines:
            raise ChannelClosed(1000, "")
        line = self._lines.pop(0)
        assert line.direction != self._we_are, f"the record has us say {line.text[:200]}"
        return line.text

    async def send(self, text: str) -> None:
        line = self._lines.pop(0)
        assert line.direction == self._we_are, f"we say {text[:200]}, the record has the peer say {line.text[:200]}"
        assert comparable(text) == comparable(line.text)

    async def close(self, code: int, reason: str) -> None:
        self.closed = (code, reason)

    def at_end(self) -> bool:
        return not self._lines
