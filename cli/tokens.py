"""How long tokens last that commands make."""

from __future__ import annotations

import time
from math import inf
from typing import Annotated, Final

import typer

from cli.catalogs import settings_for
from cli.durations import duration_s

NEVER: Final = "never"
_DAY_S: Final = 86_400

Expires = Annotated[
    str | None, typer.Option("--expires", metavar="TIME", help="After so long: 90m, 12h, 30d, or never.")
]


def lasts_s(text: str | None) -> float | None:
    """What ``--expires`` says, in seconds: infinite for never, ``None`` when nothing was said."""
    return inf if text == NEVER else None if text is None else duration_s(text)


def ends_at(repository: str, lasting_s: float | None) -> float | None:
    """When a token made now ends, in seconds since 1970; when nothing was said what the settings say."""
    lasting_s = settings_for(repository).token_days * _DAY_S if lasting_s is None else lasting_s
    return None if lasting_s == inf else time.time() + lasting_s
