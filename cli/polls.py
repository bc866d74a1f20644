"""``odf pull`` of a dataset with a polling source of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cli.fetching import fetch_options
from cli.ingests import now_or, print_nothing_new, print_outcome
from cli.meter import Meter
from cli.progress import progress_bars
from cli.spark import spark_worker
from opendatafabric.instant import Instant
from opendatafabric.metadata.events import SetPollingSource
from pipeline.commit import position_of
from pipeline.poll import poll
from repo_server.config import Settings, allowed_variables
from storage.repository import DatasetEntry


@dataclass(frozen=True, slots=True)
class PollOptions:
    """``allowed`` are the variables that templates may use."""

    system_time: Instant | None = None
    allowed: Sequence[str] = ()
    fetch_uncacheable: bool = False


async def polls(entry: DatasetEntry) -> bool:
    """Whether the dataset has a source to poll."""
    return isinstance((await position_of(entry.dataset)).state.polling_source, SetPollingSource)


async def poll_and_print(entry: DatasetEntry, options: PollOptions, *, as_json: bool) -> int | None:
    """Ask the source and print a line for each block; how many records were added, ``None`` without any block."""
    outcomes = []
    meter = Meter()
    fetching = replace(fetch_options(Settings(), allowed_variables(options.allowed)), progress=meter.progress)
    with progress_bars() as meter.shown:
        async for outcome in poll(
            entry.dataset,
            spark_worker(meter.told),
            clock=lambda: now_or(options.system_time),
            options=fetching,
            fetch_uncacheable=options.fetch_uncacheable,
        ):
            outcomes.append(outcome)
            print_outcome(str(entry.alias), outcome, meter.lap(), as_json=as_json)
    if not outcomes:
        print_nothing_new(str(entry.alias), as_json=as_json)
    written = [outcome for outcome in outcomes if outcome.changed]
    return sum(outcome.answer.rows.appended for outcome in written) if written else None
