"""``odf pull`` of a dataset with a polling source of its own."""

from __future__ import annotations

from collections.abc import Sequence

from cli.ingests import now_or, print_nothing_new, print_outcome
from cli.spark import spark_worker
from opendatafabric.instant import Instant
from opendatafabric.metadata.events import SetPollingSource
from pipeline.commit import position_of
from pipeline.fetch import FetchOptions
from pipeline.poll import poll
from repo_server.config import allowed_variables
from storage.repository import DatasetEntry


async def polls(entry: DatasetEntry) -> bool:
    """Whether the dataset has a source to poll."""
    return isinstance((await position_of(entry.dataset)).state.polling_source, SetPollingSource)


async def poll_and_print(
    entry: DatasetEntry, *, system_time: Instant | None, allowed: Sequence[str], fetch_uncacheable: bool, as_json: bool
) -> None:
    """Ask the source and print a line for each block; ``allowed`` variables may be used in templates."""
    count = 0
    async for outcome in poll(
        entry.dataset,
        spark_worker(),
        clock=lambda: now_or(system_time),
        options=FetchOptions(allowed_variables(allowed)),
        fetch_uncacheable=fetch_uncacheable,
    ):
        count += 1
        print_outcome(str(entry.alias), outcome, as_json=as_json)
    if not count:
        print_nothing_new(str(entry.alias), as_json=as_json)
