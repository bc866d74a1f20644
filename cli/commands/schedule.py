"""``odf schedule``: which datasets are polled or computed, and when."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Final

import typer

from catalog.catalog import Catalog
from catalog.jobs import KINDS, POLL, TRANSFORM, VERIFY, JobId, kind_for
from catalog.run_times import Schedule
from catalog.schedules import Scheduled
from cli.catalogs import catalog_of
from cli.datasets import opened_repository
from cli.durations import duration_s
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line, print_table
from cli.polls import polls
from cli.transform_checks import check_transform_of
from cli.transforms import derives
from opendatafabric.dataset_ref import parse_dataset_ref
from opendatafabric.did import DatasetId
from opendatafabric.errors import DatasetNotFound, MalformedInput, UnsupportedOperation
from repo_server.schedule_states import plain_schedule
from storage.repositories import DatasetRepository
from verify.report import Verdict
from verify.trust import said_by

IS_GROUP = True
app = typer.Typer(
    help="""Poll, compute or verify datasets on a schedule. A worker does it: 'odf serve' starts one.

\b
Example:
    odf schedule set us.noaa.seattle-weather "*/5 * * * *" --repo my-repository
""",
    no_args_is_help=True,
)
COLUMNS: Final = ("DATASET", "JOB", "SCHEDULE", "LAST RUN", "NEXT RUN", "FAILURES", "STATE")
DONE: Final = {POLL: "polled", VERIFY: "verified"}
Ref = Annotated[str, typer.Argument(metavar="REF", help="The dataset.")]
Verify = Annotated[bool, typer.Option("--verify", help="Its verification, not its polling or computing.")]


@app.command("set")
def set_(
    ref: Ref,
    cron: Annotated[
        str | None, typer.Argument(metavar="[CRON]", help="Minute, hour, day, month, weekday.", show_default=False)
    ] = None,
    on_change: Annotated[
        bool, typer.Option("--on-change", help="Whenever its inputs, or what is verified, have a new head.")
    ] = False,
    jitter: Annotated[
        str | None, typer.Option("--jitter", metavar="TIME", help="Later by a part of it that stays the same: 5m.")
    ] = None,
    timezone: Annotated[str, typer.Option("--timezone", metavar="NAME", help="Whose clock it follows.")] = "UTC",
    verify: Verify = False,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Poll a dataset by that schedule from now on, compute a derivative, or verify either.

    With --on-change a derivative is computed, or either verified, as soon as an input has something new, and now.
    A schedule that it has is replaced. What was missed is made up for once. After a failure it is tried again after
    half a minute, then later each time up to an hour.

    \b
    Example:
        odf schedule set us.noaa.seattle-weather "*/5 * * * *" --repo my-repository
        odf schedule set us.noaa.seattle-weather "0 6 * * MON-FRI" --timezone Europe/Berlin --jitter 10m
        odf schedule set us.noaa.seattle-weather "0 3 * * *" --verify --repo my-repository
        odf schedule set us.noaa.hot-days --on-change --repo my-repository
    """
    schedule = Schedule(cron, timezone, 0.0 if jitter is None else float(duration_s(jitter)), on_change)
    asyncio.run(_set(repository, ref, schedule, verify=verify))
    asyncio.run(_print_one(repository, ref, verify=verify, as_json=as_json))


@app.command("list")
def list_(repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """Show every schedule: when it ran last, when it runs next, how often in a row it failed and why.

    \b
    Example:
        odf schedule list --repo my-repository
    """
    found = asyncio.run(_list(repository))
    if as_json:
        print_json([{"dataset": name, **plain} for name, plain in found])
    else:
        print_table(COLUMNS, [_cells(name, plain) for name, plain in found])


@app.command()
def remove(ref: Ref, verify: Verify = False, repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """Poll a dataset no longer. A run that has begun goes on to its end.

    \b
    Example:
        odf schedule remove us.noaa.seattle-weather --repo my-repository
    """
    asyncio.run(_change(repository, ref, lambda catalog, job_id: catalog.schedules.remove(job_id), verify=verify))
    if as_json:
        print_json({"removed": ref})
    else:
        print_line(f"removed the schedule of {ref}")


@app.command()
def pause(ref: Ref, verify: Verify = False, repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """Do not poll a dataset until 'odf schedule resume'.

    \b
    Example:
        odf schedule pause us.noaa.seattle-weather --repo my-repository
    """
    asyncio.run(_change(repository, ref, lambda catalog, job_id: catalog.schedules.pause(job_id), verify=verify))
    asyncio.run(_print_one(repository, ref, verify=verify, as_json=as_json))


@app.command()
def resume(ref: Ref, verify: Verify = False, repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """Poll a dataset again, from the next time on.

    \b
    Example:
        odf schedule resume us.noaa.seattle-weather --repo my-repository
    """
    asyncio.run(_change(repository, ref, lambda catalog, job_id: catalog.schedules.resume(job_id), verify=verify))
    asyncio.run(_print_one(repository, ref, verify=verify, as_json=as_json))


@app.command("run-now")
def run_now(ref: Ref, verify: Verify = False, repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """Have a worker poll a dataset as soon as one is free, whatever its schedule says, and without one too.

    \b
    Example:
        odf schedule run-now us.noaa.seattle-weather --repo my-repository
    """
    asyncio.run(
        _change(repository, ref, lambda catalog, job_id: catalog.jobs.request(job_id), verify=verify, must_poll=True)
    )
    if as_json:
        print_json({"requested": ref})
    else:
        print_line(f"{ref} is {'verified' if verify else 'brought up to date'} as soon as a worker is free")


async def _set(repository: str, ref: str, schedule: Schedule, *, verify: bool) -> None:
    job_id = await _job_id(repository, ref, verify=verify, must_poll=True)
    if schedule.on_change and job_id.kind == POLL:
        raise MalformedInput("the source of a root tells of no changes", hint='give it times: "*/5 * * * *"')
    async with opened_repository(repository) as opened:
        entry = await opened.find(job_id.dataset_id)
        said = await said_by(entry.dataset, job_id.kind)  # before it is looked at: it may change meanwhile
        if job_id.kind == TRANSFORM:
            await check_transform_of(entry, opened)
    async with catalog_of(repository) as catalog:
        await catalog.schedules.set(job_id, schedule, said=said)


async def _change(
    repository: str,
    ref: str,
    change: Callable[[Catalog, JobId], Awaitable[None]],
    *,
    verify: bool,
    must_poll: bool = False,
) -> None:
    job_id = await _job_id(repository, ref, verify=verify, must_poll=must_poll)
    async with catalog_of(repository) as catalog:
        await change(catalog, job_id)


async def _job_id(repository: str, ref: str, *, verify: bool, must_poll: bool = False) -> JobId:
    """By id a dataset is found that is no more: its schedule may be removed still."""
    parsed = parse_dataset_ref(ref)
    if isinstance(parsed, DatasetId) and not must_poll:
        return JobId(VERIFY, parsed) if verify else await _scheduled_job_id(repository, parsed)
    async with opened_repository(repository) as opened:
        entry = await opened.find(parsed)
        if verify:
            return JobId(VERIFY, entry.id)
        if must_poll and not (await polls(entry) or await derives(entry)):
            raise UnsupportedOperation(f"{entry.alias} has no source to poll", hint="data are pushed into it")
        return JobId(kind_for((await entry.dataset.seed()).dataset_kind), entry.id)


async def _scheduled_job_id(repository: str, dataset_id: DatasetId) -> JobId:
    async with catalog_of(repository) as catalog:
        for kind in (POLL, TRANSFORM):
            if await catalog.schedules.find(JobId(kind, dataset_id)) is not None:
                return JobId(kind, dataset_id)
    return JobId(POLL, dataset_id)


async def _print_one(repository: str, ref: str, *, verify: bool, as_json: bool) -> None:
    job_id = await _job_id(repository, ref, verify=verify)
    async with catalog_of(repository) as catalog:
        found = await catalog.schedules.find(job_id)
    plain = None if found is None else plain_schedule(found)
    if as_json:
        print_json({"dataset": ref} if plain is None else {"dataset": ref, **plain})
    elif plain is not None:
        done = DONE.get(job_id.kind, "computed")
        print_line(f"{ref}: {_told(plain, done)}")


def _told(plain: Mapping[str, Any], done: str) -> str:
    if plain["paused"]:
        return "paused"
    when = f"{done} next at {plain['nextRunAt']}" if plain["nextRunAt"] else done
    return f"{when}, and on every change" if plain["onChange"] else when


async def _list(repository: str) -> list[tuple[str, dict[str, Any]]]:
    async with catalog_of(repository) as catalog:
        found = [each for kind in KINDS for each in await catalog.schedules.list(kind)]
    async with opened_repository(repository) as opened:
        return [(await _name(opened, each), {"job": each.id.kind, **plain_schedule(each)}) for each in found]


async def _name(repository: DatasetRepository, scheduled: Scheduled) -> str:
    try:
        return str((await repository.find(scheduled.id.dataset_id)).alias)
    except DatasetNotFound:
        return str(scheduled.id.dataset_id)


def _cells(name: str, plain: dict[str, Any]) -> tuple[str, ...]:
    zone = "" if plain["timezone"] == "UTC" else f" {plain['timezone']}"
    times = [f"{plain['cron']}{zone}"] if plain["cron"] else []
    when = ", ".join([*times, *(["on change"] if plain["onChange"] else [])])
    state = "running" if plain["running"] else plain["lastError"] or ("paused" if plain["paused"] else _verdict(plain))
    next_run = plain["nextRunAt"] or ("on change" if plain["onChange"] and not plain["paused"] else "never")
    return name, plain["job"], when, plain["lastRunAt"] or "never", next_run, str(plain["failures"]), state


def _verdict(plain: dict[str, Any]) -> str:
    """Of the last run, if it verified the dataset."""
    outcome = plain["lastOutcome"] or {}
    verdict, finding = outcome.get("verdict"), outcome.get("finding")
    if verdict is None:
        return "well"
    return str(verdict) if verdict == Verdict.VALID.value else f"{verdict}: {finding}"
