"""Secrets that are typed or piped in, and never stand on a command line: those are seen in the list of processes."""

from __future__ import annotations

import sys

import typer


def read_secret(what: str, *, twice: bool = False) -> str:
    """A line from standard input, or asked for where that is a terminal, ``twice`` for one that is new."""
    if sys.stdin.isatty():
        return str(typer.prompt(what, hide_input=True, err=True, confirmation_prompt=twice))
    return sys.stdin.readline().removesuffix("\n")
