"""What commands print: results to stdout, everything else to stderr.

With ``--json`` stdout carries JSON and nothing else: one document for a command with one result, one line per result
for commands that take many arguments. Colour and bars appear only on a terminal, and ``NO_COLOR`` is honoured.

Much of what is printed was written by others: descriptions, names of columns, records, words of servers. Control
characters in it would move the cursor, change the title or hide what else is printed, so they are shown as ``\\u001b``,
which is also what JSON and YAML call them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from io import BufferedIOBase
from typing import BinaryIO, cast

from opendatafabric.errors import OdfError
from opendatafabric.visible import visible, visible_in_line


def print_line(text: str) -> None:
    """One line to stdout, at once: a reader of a pipe must not wait for a full buffer."""
    _write_line(visible(text))


def print_text(text: str) -> None:
    """A document for programs too, with a newline at its end if it has none: exact unless it goes to a terminal."""
    ended = text if text.endswith("\n") else text + "\n"
    sys.stdout.write(visible(ended) if sys.stdout.isatty() else ended)


def stdout_for_records() -> AbstractContextManager[BinaryIO]:
    """Where records go as bytes: exact into files and pipes, visible on a terminal."""
    return nullcontext(cast(BinaryIO, _Visible()) if sys.stdout.isatty() else sys.stdout.buffer)


class _Visible(BufferedIOBase):
    """Shows UTF-8 text on a terminal; what is none of it is shown as far as it can be."""

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        sys.stdout.write(visible(bytes(data).decode(errors="backslashreplace")))
        return len(data)


def print_bytes(data: bytes) -> None:
    """Raw bytes to stdout."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def print_json(value: object, *, indent: int | None = 2) -> None:
    """One JSON document; with ``indent=None`` on one line."""
    print_line(json.dumps(value, indent=indent, ensure_ascii=False, default=str))


def print_note(text: str) -> None:
    """A remark for people, to stderr."""
    sys.stderr.write(visible(text) + "\n")
    sys.stderr.flush()


def print_error(error: OdfError, *, as_json: bool = False, subject: str | None = None) -> None:
    """An error to stderr: the sentence, what was expected and found, the hint."""
    if as_json:
        named = {} if subject is None else {"argument": subject}
        print_note(json.dumps({"error": {**named, **error.as_dict()}}, ensure_ascii=False))
        return
    print_note("odf: " + (f"{subject}: " if subject else "") + error.message)
    if error.expected is not None and error.found is not None:
        print_note(f"  expected {error.expected}, found {error.found}")
    if error.hint:
        print_note(f"  hint: {error.hint}")


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Rows in aligned columns; the heading is bold on a terminal."""
    for number, line in enumerate(table_lines(columns, rows)):
        _write_line(_bold(line) if number == 0 else line)


def table_lines(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The heading and the rows in aligned columns, two blanks between them."""
    lines = [[visible_in_line(cell) for cell in row] for row in (columns, *rows)]
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    for line in lines:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()


def format_bytes(size: int) -> str:
    """A size for people: ``1023 B``, ``1.5 MiB``."""
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{size} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def _write_line(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m" if sys.stdout.isatty() and not _no_color() else text


def _no_color() -> bool:
    from rich.console import Console  # noqa: PLC0415 - costs 50 ms, needed on a terminal only

    return Console().no_color
