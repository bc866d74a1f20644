"""How a transfer tells what it does: a function that takes a label, how much is done and how much there is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

Progress = Callable[[str, int, int | None], None]
"""``progress(label, done, total)``; labels are ``blocks``, ``objects`` (counts) and ``bytes``."""


def silent(label: str, done: int, total: int | None) -> None:
    """Progress nobody watches."""


BLOCKS: Final = "blocks"
OBJECTS: Final = "objects"
BYTES: Final = "bytes"
