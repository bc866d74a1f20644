"""Progress of long work as bars on stderr, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from cli.output import format_bytes

Advance = Callable[[str, int, int | None], None]
"""What long work calls as it goes: a label, how much is done, how much there is (``None``: not known yet)."""

LABEL_OF_BYTES: Final = "bytes"


@contextmanager
def progress_bars() -> Iterator[Advance]:
    """One bar per label, shown from its first use on; nothing at all when stderr is no terminal."""
    if not sys.stderr.isatty():
        yield _silent
        return
    columns = (TextColumn("{task.description:>8}"), BarColumn(), _Amounts(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def advance(label: str, done: int, total: int | None) -> None:
            if label not in tasks:
                tasks[label] = bars.add_task(label, total=total)
            bars.update(tasks[label], completed=done, total=total)

        yield advance


def amounts(label: str, done: int, total: int | None) -> str:
    """``4 of 7``, ``1.0 KiB of 2.0 KiB``, or what is done alone when it is not known how much there is."""
    written = format_bytes if label == LABEL_OF_BYTES else str
    return written(done) if total is None else f"{written(done)} of {written(total)}"


class _Amounts(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(amounts(task.description, int(task.completed), None if task.total is None else int(task.total)))


def _silent(label: str, done: int, total: int | None) -> None:
    """No terminal, no bars."""
