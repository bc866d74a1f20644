"""Runs a command line inside the test's process and keeps what it printed."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

import orjson

from cli.main import run


@dataclass(frozen=True)
class Ran:
    """Exit code and output of one command."""

    code: int
    stdout: bytes
    stderr: str

    @property
    def lines(self) -> list[str]:
        return self.stdout.decode().splitlines()

    def json(self) -> object:
        return orjson.loads(self.stdout)

    def json_lines(self) -> list[dict[str, object]]:
        return [orjson.loads(line) for line in self.stdout.splitlines()]


def odf(*arguments: object, stdin: str = "") -> Ran:
    """``odf ARGUMENTS…`` with ``stdin`` piped in."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True), io.StringIO()
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = run([str(argument) for argument in arguments])
    finally:
        sys.stdin = before
    return Ran(int(code), out.buffer.getvalue(), err.getvalue())
