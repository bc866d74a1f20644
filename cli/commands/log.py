"""``odf log``: the metadata chain of a dataset, newest block first."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import Annotated

import typer

from cli.datasets import opened
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line, print_text
from opendatafabric.codec.yaml_codec import to_plain, write_block_manifest
from opendatafabric.metadata.block import HashedBlock


class Format(StrEnum):
    """How blocks are printed."""

    SHORT = "short"
    YAML = "yaml"
    JSON = "json"


def command(
    ref: Annotated[str, typer.Argument(metavar="REF|DIR|URL", help="The dataset.")],
    output: Annotated[Format, typer.Option("--output", "-o", help="A line per block, or all of it.")] = Format.SHORT,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="Print so many blocks at most.")] = None,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Print the metadata chain of a dataset, newest block first.

    \b
    Example:
        odf log examples/us.faa.airports --limit 3
        odf log -o yaml ./dataset-folder
    """
    asyncio.run(_print_log(ref, repository, Format.JSON if as_json else output, limit))


async def _print_log(ref: str, repository: str, output: Format, limit: int | None) -> None:
    printed = 0
    async with opened(ref, repository) as found:
        async for batch in found.dataset.walk(found.head):
            for block in batch[: None if limit is None else limit - printed]:
                _print_block(block, output)
                printed += 1
            if printed == limit:
                return


def _print_block(block: HashedBlock, output: Format) -> None:
    if output is Format.JSON:
        print_json({"hash": str(block.hash), **to_plain(block.block)}, indent=None)
    elif output is Format.YAML:
        print_text(f"---\n# Block: {block.hash}\n{write_block_manifest(block.block)}\n\n")
    else:
        kind = type(block.event).__name__
        print_line(f"{block.sequence_number:>6}  {block.hash}  {block.block.system_time}  {kind}")
