"""``odf snapshot``: DatasetSnapshot manifests, the files that datasets are made from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.bulk import run_each, write_beside
from cli.commands.block import TEXT_SUFFIXES, read_text
from cli.options import AsJson, OutFolder
from cli.output import print_json, print_line
from opendatafabric.codec.yaml_codec import read_snapshot, read_snapshots, to_plain, write_snapshot

IS_GROUP = True
app = typer.Typer(
    help="""Check dataset manifests.

\b
Example:
    odf snapshot check dataset.yaml
""",
    no_args_is_help=True,
)


@app.command()
def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="DatasetSnapshot manifests.")],
    single: Annotated[bool, typer.Option("--single", help="Refuse files with more than one manifest.")] = False,
    out: OutFolder = None,
    as_json: AsJson = False,
) -> None:
    """Read each manifest and print the names of its datasets, or say at which line and field it is wrong.

    A file may hold several manifests parted by '---'. With --out the manifests are written as we would write them.

    \b
    Example:
        odf snapshot check dataset.yaml other.yaml
    """

    def check_one(file: Path) -> None:
        text = read_text(file)
        snapshots = [read_snapshot(text)] if single else list(read_snapshots(text))
        if out is not None:
            canonical = "---\n".join(write_snapshot(snapshot) for snapshot in snapshots)
            write_beside(out, file, known_suffixes=TEXT_SUFFIXES, suffix=".yaml", data=canonical.encode())
        if as_json:
            plain = [to_plain(snapshot) for snapshot in snapshots]
            print_json({"file": str(file), "ok": True, "snapshots": plain}, indent=None)
        else:
            print_line(f"{', '.join(str(snapshot.name) for snapshot in snapshots)}  {file}")

    run_each(files, check_one, as_json=as_json)


@app.callback()
def _group() -> None:
    """A group even while it has one command."""
