"""Bars on a terminal. Loaded only where there is one: ``rich`` takes longer than many a command."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.text import Text

from cli.progress import amounts, rate
from storage.progress import Progress


@contextmanager
def bars_on_terminal() -> Iterator[Progress]:
    """One bar per label, shown from its first use on."""
    columns = (TextColumn("{task.description:>9}"), BarColumn(), _Amounts(), _Rates(), TimeRemainingColumn())
    # What is printed meanwhile must not come by way of the bars if it goes elsewhere than they.
    to_terminal = sys.stdout.isatty()
    with Bars(*columns, console=Console(stderr=True), transient=True, redirect_stdout=to_terminal) as bars:
        tasks: dict[str, TaskID] = {}

        def advance(label: str, done: int, total: int | None) -> None:
            if label not in tasks:
                tasks[label] = bars.add_task(label, total=total)
            bars.update(tasks[label], completed=done, total=total)

        yield advance


class _Amounts(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(amounts(task.description, int(task.completed), None if task.total is None else int(task.total)))


class _Rates(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else rate(task.description, task.speed))
