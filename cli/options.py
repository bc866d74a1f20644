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
