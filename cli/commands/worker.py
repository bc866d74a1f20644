"""``odf worker``: does what is scheduled."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line
from cli.workers import run_worker


def command(
    allow_env: Annotated[
        list[str] | None, typer.Option("--allow-env", metavar="NAME", help="A variable that sources may use.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Only what is due now.")] = False,
    attached: Annotated[bool, typer.Option("--attached", help="Stop when standard input ends.")] = False,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Do what is scheduled for the datasets of a repository until Ctrl-C or SIGTERM.

    The log goes to stderr, a JSON object a line; the first line on stdout says that the worker runs. Several may run
    over one repository: each job is done by one of them. 'odf serve' starts one of its own.

    \b
    Example:
        odf worker --repo my-repository
    """

    def tell() -> None:
        if as_json:
            print_json({"ready": True}, indent=None)
        else:
            print_line("ready")

    asyncio.run(run_worker(repository, allowed=allow_env or (), attached=attached, once=once, on_ready=tell))
