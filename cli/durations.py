"""Lengths of time as people write them."""

from __future__ import annotations

import re
from typing import Final

import typer

UNITS_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def duration_s(text: str) -> int:
    """``90m``, ``12h``, ``30d`` and the like, in seconds.

    Raises:
        BadParameter: no such text.
    """
    found = re.fullmatch(r"([1-9][0-9]{0,8})([smhdw])", text, re.ASCII)
    if found is None:
        raise typer.BadParameter(f"{text!r} is no length of time: write 90m, 12h or 30d")
    return int(found[1]) * UNITS_S[found[2]]
