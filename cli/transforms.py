"""``odf pull`` of a derivative: what is new in its inputs goes through its query."""

from __future__ import annotations

from cli.ingests import now_or, print_nothing_new, print_outcome
from cli.meter import Meter
from cli.output import print_json, print_line
from cli.progress import progress_bars
from cli.spark import spark_worker
from opendatafabric.instant import Instant
from opendatafabric.limits import STEP_RECORDS_MAX
from opendatafabric.metadata.events import SetTransform
from pipeline.commit import Outcome, position_of
from pipeline.transform.input_chains import inputs_in, planned_step
from pipeline.transform.plan import PlannedInput
from pipeline.transform.run import all_steps
from repo_server.config import Settings
from storage.repositories import DatasetRepository
from storage.repository import DatasetEntry


async def derives(entry: DatasetEntry) -> bool:
    """Whether the dataset is computed from others."""
    return isinstance((await position_of(entry.dataset)).state.transform, SetTransform)


async def derive_and_print(
    entry: DatasetEntry, repository: DatasetRepository, system_time: Instant | None, *, as_json: bool
) -> int | None:
    """Make steps and print a line for each; how many records were added, ``None`` without any block."""
    meter = Meter()
    made: list[Outcome] = []
    with progress_bars() as meter.shown:
        steps = all_steps(
            entry.dataset,
            inputs_in(repository),
            spark_worker(meter.told),
            clock=lambda: now_or(system_time),
            elsewhere=Settings().engines_elsewhere,
        )
        async for outcome in steps:
            made.append(outcome)
            print_outcome(str(entry.alias), outcome, meter.lap(), as_json=as_json)
    if not made:
        await _print_nothing_done(entry, repository, as_json=as_json)
    written = [outcome for outcome in made if outcome.changed]
    return sum(outcome.answer.rows.appended for outcome in written) if written else None


async def print_next_step(entry: DatasetEntry, repository: DatasetRepository, *, as_json: bool) -> bool:
    """Print what the next step would read, without making it; whether there is anything to read."""
    position = await position_of(entry.dataset)
    plan, _ = await planned_step(position, inputs_in(repository), records_max=STEP_RECORDS_MAX)
    if as_json:
        inputs = [_as_dict(each) for each in plan.inputs]
        print_json({"name": str(entry.alias), "dry_run": True, "due": plan.is_due, "inputs": inputs}, indent=None)
    elif plan.waits_for:
        print_line(f"{entry.alias}: waits for data of {', '.join(plan.waits_for)}")
    elif not plan.is_due:
        print_line(f"{entry.alias}: up to date")
    else:
        print_line(f"{entry.alias}: would read {', '.join(map(_told, plan.inputs))}")
    return plan.is_due


async def _print_nothing_done(entry: DatasetEntry, repository: DatasetRepository, *, as_json: bool) -> None:
    """With the inputs that it waits for, if that is why."""
    if as_json:
        print_nothing_new(str(entry.alias), as_json=True)
    else:
        await print_next_step(entry, repository, as_json=False)


def _told(planned: PlannedInput) -> str:
    interval = planned.interval
    if interval is None:
        return f"nothing of {planned.alias}"
    return f"{len(interval)} records of {planned.alias} (offsets {interval.start} to {interval.end})"


def _as_dict(planned: PlannedInput) -> dict[str, object]:
    event, interval = planned.event, planned.interval
    return {
        "alias": planned.alias,
        "id": str(event.dataset_id),
        "after_block": None if event.prev_block_hash is None else str(event.prev_block_hash),
        "to_block": None if event.new_block_hash is None else str(event.new_block_hash),
        "offsets": None if interval is None else [interval.start, interval.end],
        "slices": [str(each.physical_hash) for each in planned.slices],
        "watermark": None if planned.last_watermark is None else str(planned.last_watermark),
    }
