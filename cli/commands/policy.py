"""``odf policy``: how the head of a dataset may move."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from cli.head_history import policy_of
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line
from cli.signing import key_named


def command(
    ref: Annotated[str, typer.Argument(metavar="REF", help="The dataset, here or on a server.")],
    append_only: Annotated[
        bool | None,
        typer.Option("--append-only/--no-append-only", help="The head moves forward alone, whoever moves it."),
    ] = None,
    allow_force: Annotated[
        bool | None, typer.Option("--allow-force/--no-allow-force", help="The chain may be replaced by force.")
    ] = None,
    signed_by: Annotated[
        str | None,
        typer.Option("--signed-by", metavar="KEY", help="Who has to sign new heads: did:key:…, a key file, or nobody."),
    ] = None,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Say how the head of a dataset may move, or show it. It holds for everybody: servers, workers and commands.

    \b
    Example:
        odf policy us.noaa.seattle-weather --append-only --repo my-repository
        odf policy us.noaa.seattle-weather --repo my-repository
    """
    told = asyncio.run(
        policy_of(ref, repository, appendOnly=append_only, allowForce=allow_force, signedBy=key_named(signed_by))
    )
    if as_json:
        print_json(told)
        return
    signed = "" if told["signedBy"] is None else f", signed by {told['signedBy']}"
    print_line(f"{ref}: append-only: {_yes(told['appendOnly'])}, force allowed: {_yes(told['allowForce'])}{signed}")


def _yes(value: bool) -> str:
    return "yes" if value else "no"
