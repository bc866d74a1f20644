"""Progress of long work as bars on stderr, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from cli.output import format_bytes
from storage.progress import BYTES, Progress, silent


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """One bar per label, shown from its first use on; nothing at all when stderr is no terminal."""
    if not sys.stderr.isatty():
        yield silent
        return
    from cli.bars import bars_on_terminal  # noqa: PLC0415 - loads rich, which costs 100 ms

    with bars_on_terminal() as advance:
        yield advance


def amounts(label: str, done: int, total: int | None) -> str:
    """``4 of 7``, ``1.0 KiB of 2.0 KiB``, or what is done alone when it is not known how much there is."""
    written = format_bytes if label == BYTES else str
    return written(done) if total is None else f"{written(done)} of {written(total)}"


def rate(label: str, per_s: float) -> str:
    """``1,200/s``, or ``1.0 KiB/s``."""
    return f"{format_bytes(int(per_s)) if label == BYTES else format(int(per_s), ',')}/s"
