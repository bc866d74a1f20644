"""``odf init``: a new repository."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.options import AsJson
from cli.output import print_json, print_line
from storage.repository import Repository


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder; made if it is not there.")],
    as_json: AsJson = False,
) -> None:
    """Make an empty repository. One that is there already is left as it is.

    \b
    Example:
        odf init my-repository
    """
    repository = Repository.init(folder)
    if as_json:
        print_json({"repository": str(repository.root), "layout": repository.layout.value})
    else:
        print_line(f"repository {repository.root}")
