"""``odf set-watermark``: say up to when a root dataset is complete."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from cli.datasets import repository_at
from cli.ingests import instant_option, now_or
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line
from opendatafabric.dataset_ref import DatasetAlias, parse_dataset_ref
from opendatafabric.instant import Instant
from pipeline.commit import Outcome
from pipeline.ingest import set_watermark


def command(
    ref: Annotated[str, typer.Argument(metavar="REF", help="The dataset.")],
    watermark: Annotated[str, typer.Argument(metavar="INSTANT", help="As 2026-01-31T00:00:00Z.")],
    system_time: Annotated[
        str | None, typer.Option("--system-time", metavar="T", help="When it is said, instead of now.")
    ] = None,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Say that no records from before a time will come: those who derive from the dataset need not wait for them.

    A watermark never goes back. One that is in force already makes no block.

    \b
    Example:
        odf set-watermark us.faa.airports 2026-01-31T00:00:00Z
    """
    times = (Instant.from_rfc3339(watermark), instant_option(system_time))
    alias, outcome = asyncio.run(_set(ref, repository, times[0], times[1]))
    if as_json:
        print_json(_as_dict(alias, outcome))
    elif outcome.changed:
        print_line(f"{alias}: watermark {outcome.watermark}, head {outcome.new_head}")
    else:
        print_line(f"{alias}: up to date")


async def _set(
    ref: str, repository: str, watermark: Instant, system_time: Instant | None
) -> tuple[DatasetAlias, Outcome]:
    entry = await (await repository_at(repository)).find(parse_dataset_ref(ref))
    return entry.alias, await set_watermark(entry.dataset, watermark, system_time=now_or(system_time))


def _as_dict(alias: DatasetAlias, outcome: Outcome) -> dict[str, object]:
    return {
        "name": str(alias),
        "changed": outcome.changed,
        "old_head": str(outcome.old_head),
        "new_head": str(outcome.new_head),
        "watermark": str(outcome.watermark),
    }
