"""Options that many commands share, so that they read the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
RepositoryOption = Annotated[
    str,
    typer.Option(
        "--repo", envvar="ODF_REPO", metavar="DIR|URL", help="The repository: a folder, or where it says so a server."
    ),
]
OutFolder = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", file_okay=False, help="Write one file per input into this folder."),
]
AtBlock = Annotated[
    str | None, typer.Option("--at-block", metavar="HASH", help="Only what the chain said up to this block.")
]
AsAt = Annotated[str | None, typer.Option("--as-at", metavar="T", help="Only what was known at this system time.")]
AsOf = Annotated[
    str | None,
    typer.Option("--as-of", metavar="T", help="The state, by what is known, of what had happened by this event time."),
]
State = Annotated[
    bool, typer.Option("--state/--changelog", help="Carry retractions and corrections out, or show them as they are.")
]
