"""When tokens end that commands make."""

from __future__ import annotations

import time
from typing import Annotated, Final

import typer

from cli.catalogs import settings_for
from cli.durations import duration_s

NEVER: Final = "never"
_DAY_S: Final = 86_400

Expires = Annotated[
    str | None, typer.Option("--expires", metavar="TIME", help="After so long: 90m, 12h, 30d, or never.")
]


def expires_at(repository: str, text: str | None) -> float | None:
    """The moment that ``--expires`` names, in seconds since 1970; without one what the settings say."""
    if text == NEVER:
        return None
    return time.time() + (settings_for(repository).token_days * _DAY_S if text is None else duration_s(text))
