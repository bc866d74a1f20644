"""Commands over many arguments: each is done on its own, a bad one is told on stderr, the rest go on.

The exit code is 1 when any argument was bad, whatever the reasons were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import typer

from cli.exit_codes import ExitCode
from cli.output import print_error
from opendatafabric.errors import NotFound, OdfError, StorageError

Argument = TypeVar("Argument", str, Path)


def run_each(arguments: Iterable[Argument], act: Callable[[Argument], None], *, as_json: bool) -> None:
    """Call ``act`` with each argument in turn.

    Raises:
        typer.Exit: with code 1, after the last one, when some were bad.
    """
    bad = 0
    for argument in arguments:
        try:
            act(argument)
        except OdfError as error:
            print_error(error, as_json=as_json, subject=str(argument))
            bad += 1
    if bad:
        raise typer.Exit(ExitCode.FAILED)


def read_file(path: Path) -> bytes:
    """All bytes of a file the user named; ``NotFound`` or ``StorageError`` when it cannot be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise NotFound("no such file") from None
    except OSError as error:
        raise StorageError(f"cannot be read: {error.strerror or error}") from error


def write_beside(folder: Path, source: Path, *, known_suffixes: Iterable[str], suffix: str, data: bytes) -> Path:
    """Write ``data`` into ``folder`` under the name of ``source``, a known suffix replaced by ``suffix``."""
    name = source.stem if source.suffix.lower() in known_suffixes else source.name
    target = folder / (name + suffix)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    except OSError as error:
        raise StorageError(f"{target} cannot be written: {error.strerror or error}") from error
    return target
