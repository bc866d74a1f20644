"""Progress of long work as bars on stderr, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn


class Advance(Protocol):
    """What long work calls as it goes: so many ``done`` of ``total`` (unknown: ``None``), under a label."""

    def __call__(self, label: str, done: int, total: int | None) -> None: ...


@contextmanager
def progress_bars(*, in_bytes: bool) -> Iterator[Advance]:
    """Bars that appear as labels are first used; nothing at all when stderr is no terminal."""
    if not sys.stderr.isatty():
        yield _silent
        return
    counted = (DownloadColumn(), TransferSpeedColumn()) if in_bytes else (TextColumn("{task.completed}/{task.total}"),)
    columns = (TextColumn("{task.description}"), BarColumn(), *counted, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, object] = {}

        def advance(label: str, done: int, total: int | None) -> None:
            if label not in tasks:
                tasks[label] = bars.add_task(label, total=total)
            bars.update(tasks[label], completed=done, total=total)  # type: ignore[arg-type]

        yield advance


def _silent(label: str, done: int, total: int | None) -> None:
    """No terminal, no bars."""
