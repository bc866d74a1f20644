"""How long work tells what it does: a function that takes a label, how much is done and how much there is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

Progress = Callable[[str, int, int | None], None]
"""``progress(label, done, total)``; the total is ``None`` as long as it is not known.

Labels are ``bytes``; of transfers ``blocks`` and ``objects``; of ingests ``read``, ``appended``, ``retracted`` and
``corrected``, which are records.
"""


def silent(label: str, done: int, total: int | None) -> None:
    """Progress nobody watches."""


BLOCKS: Final = "blocks"
OBJECTS: Final = "objects"
BYTES: Final = "bytes"
