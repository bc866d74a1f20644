"""``odf serve``: the repository server."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from cli.catalogs import settings_for
from cli.options import RepositoryOption
from cli.output import print_json, print_line
from repo_server.app import serve
from repo_server.config import Tenancy


def command(
    host: Annotated[str | None, typer.Option("--host", metavar="ADDRESS", help="Where to listen.")] = None,
    port: Annotated[int | None, typer.Option("--port", metavar="N", help="0 takes a free one.")] = None,
    tenancy: Annotated[
        Tenancy | None, typer.Option("--tenancy", help="Datasets at /account/name (multi) or at /name (single).")
    ] = None,
    no_worker: Annotated[
        bool, typer.Option("--no-worker", help="Start no worker: what is scheduled is done by others.")
    ] = False,
    repository: RepositoryOption = ".",
    as_json: Annotated[bool, typer.Option("--json", help="Print the address as JSON.")] = False,
) -> None:
    """Serve a repository over HTTP until Ctrl-C or SIGTERM. The first line on stdout is the address.

    Once something is scheduled, a worker runs beside it. Everything else is set by variables ODF_...; the log goes to
    stderr, a JSON object a line.

    \b
    Example:
        odf serve --repo my-repository --port 8080
        ODF_PUBLIC_URL=https://data.example.org odf serve --host 0.0.0.0 --port 8080
    """
    settings = settings_for(repository, host=host, port=port, tenancy=tenancy, run_worker=False if no_worker else None)

    def tell(address: str) -> None:
        if as_json:
            print_json({"address": address}, indent=None)
        else:
            print_line(address)

    asyncio.run(serve(settings, on_ready=tell))
