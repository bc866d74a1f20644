"""``odf delete``: take a dataset from sight; it is kept for a while."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from cli.lifecycles import deleted
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line


def command(
    ref: Annotated[str, typer.Argument(metavar="REF", help="The dataset, here or on a server.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what depends on it.")] = False,
    for_good: Annotated[bool, typer.Option("--for-good", help="Do not keep it: nobody can bring it back.")] = False,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Delete a dataset: nobody finds it any more, and for ODF_DELETED_KEPT_S its owner may bring it back.

    \b
    Example:
        odf delete com.example.city-populations --dry-run --repo my-repository
        odf delete com.example.city-populations --repo my-repository
    """
    told = asyncio.run(deleted(ref, repository, dry_run=dry_run, for_good=for_good))
    if as_json:
        print_json(told)
    elif dry_run:
        _print_dependents(told)
    elif told["forGood"]:
        print_line(f"{told['name']} is deleted for good")
    else:
        print_line(f"{told['name']} is deleted; odf undelete brings it back until {told['keptUntil']}")


def _print_dependents(told: dict[str, Any]) -> None:
    print_line(f"{told['name']} would be deleted, and kept until {told['keptUntil']}")
    for name in told["derivatives"]:
        print_line(f"  {name} is derived from it")
    if told["mirrors"]:
        print_line(f"  {told['mirrors']} mirrors copy it")
    for kind, count in told["belongings"].items():
        if count:
            print_line(f"  {kind}: {count}")
