"""``odf engine``: our engine for other programs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

import typer

from cli.output import print_json, print_line
from cli.stopping import stop_asked
from pipeline.engine_contract.methods import PORT
from pipeline.engine_contract.served import ServedEngine
from repo_server.config import Settings
from repo_server.ingesting import ForeignEngine
from repo_server.logs import start_logging

IS_GROUP = True
app = typer.Typer(
    help="""Lend the engine of this program to a coordinator of Open Data Fabric, such as kamu.

\b
Example:
    odf engine serve --root /opt/engine
""",
    no_args_is_help=True,
)
_ROOT: Final = Path("/opt/engine")


@app.callback()
def _group() -> None:
    """With a callback the group keeps its one command."""


@app.command()
def serve(
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="N", min=0, max=65535, help="0 takes a free one.")] = PORT,
    root: Annotated[Path, typer.Option("--root", metavar="DIR", help="Where files of requests may lie.")] = _ROOT,
    as_json: Annotated[bool, typer.Option("--json", help="Print the address as JSON.")] = False,
) -> None:
    """Serve the engines spark and datafusion over gRPC until Ctrl-C or SIGTERM. The first line on stdout says where.

    Files pass by their paths, which lie in one folder that coordinator and engine both see. Whoever reaches the port
    may have queries run: there is no login in the contract.

    \b
    Example:
        odf engine serve --root /opt/engine
        odf engine serve --host 0.0.0.0 --port 2884
    """

    def tell(address: str) -> None:
        if as_json:
            print_json({"address": address}, indent=None)
        else:
            print_line(address)

    asyncio.run(_serve(host, port, root, tell))


async def _serve(host: str, port: int, root: Path, tell: Callable[[str], None]) -> None:
    from pipeline.engine_contract.server import serving  # noqa: PLC0415 - of the extra `spark`

    settings = Settings()
    start_logging(settings.log_level)
    async with (
        stop_asked() as stop,
        serving(ServedEngine(ForeignEngine(settings), root), host=host, port=port) as bound,
    ):
        tell(f"{host}:{bound}")
        await stop.wait()
