"""Reports of a repository found by what people type, and how they are printed."""

from __future__ import annotations

from collections.abc import Sequence

from catalog.reports import KeptReport, VerdictSpan
from cli.datasets import opened_repository
from cli.output import print_line, print_table, print_text
from cli.report_rooms import report_room
from opendatafabric.dataset_ref import parse_dataset_ref
from opendatafabric.errors import MalformedIdentifier, ObjectNotFound, UnsupportedOperation
from opendatafabric.multihash import Multihash
from repo_server.report_states import checked, moment
from verify.report_making import report_of
from verify.report_record import EnvironmentRecord, ReportRecord
from verify.report_room import ReportRoom, read_report

_COLUMNS = ("REPORT", "ENDED", "VERDICT", "CHECKED", "HEAD")
_SPAN_COLUMNS = ("VERDICT", "FIRST SEEN", "LAST SEEN", "REPORTS")


async def reports_of(ref: str, repository: str) -> list[KeptReport]:
    """Those of a dataset of the repository, the newest first.

    Raises:
        MalformedIdentifier, DatasetNotFound, NotARepository: as they say.
        UnsupportedOperation: a server.
    """
    async with report_room(repository) as room, opened_repository(repository) as root:
        entry = await root.find(parse_dataset_ref(ref))
        return await _checked(room, repository).listed.of(entry.id)


async def found_report(text: str, repository: str) -> tuple[Multihash, bytes]:
    """The report of that hash, or the last one of the dataset that is called so.

    Raises:
        ObjectNotFound: there is none.
    """
    async with report_room(repository) as given, opened_repository(repository) as root:
        room = _checked(given, repository)
        report_hash = _hash_in(text)
        if report_hash is not None:
            kept = await room.listed.find(report_hash)
        else:
            kept = await room.listed.last((await root.find(parse_dataset_ref(text))).id)
        if kept is None:
            raise ObjectNotFound(f"there is no report {text}", hint="odf verify makes one, odf report list shows them")
        return kept.hash, await read_report((await root.find(kept.dataset_id)).dataset.objects, kept.hash)


def print_reports(reports: Sequence[KeptReport], spans: Sequence[VerdictSpan]) -> None:
    """The reports, and since when the verdict is what it is."""
    print_table(_COLUMNS, [_cells(report) for report in reports])
    print_line("")
    print_table(
        _SPAN_COLUMNS,
        [(each.verdict, moment(each.first_seen), moment(each.last_seen), str(each.count)) for each in spans],
    )


def print_report(report_hash: Multihash, record: ReportRecord) -> None:
    """The report for people, the verdict last."""
    timings = record.timings
    print_line(f"report {report_hash}")
    print_line(f"dataset:  {record.alias or 'without a name'}  {record.dataset_id or ''}".rstrip())
    print_line(f"head:     {record.head}")
    print_line(f"checked:  {checked(replayed=record.scope.replay)}, {timings.started_at} to {timings.ended_at}")
    for each in record.inputs:
        known = "not verified" if each.verdict is None else each.verdict.value
        print_line(f"input:    {each.dataset_id} at {each.block_hash}: {known}")
    for line in _computed_with(record.environment):
        print_line(line)
    print_text(report_of(record).as_text())


def _cells(report: KeptReport) -> tuple[str, ...]:
    head = "" if report.head is None else str(report.head)
    return str(report.hash), moment(report.ended_at), report.verdict, checked(replayed=report.replayed), head


def _computed_with(environment: EnvironmentRecord) -> list[str]:
    software = ", ".join(f"{name} {version}" for name, version in sorted(environment.software.items()))
    lines = [f"with:     {software}; {environment.platform}; time zones {environment.time_zone_data or 'unknown'}"]
    if environment.engine is not None:
        engine = environment.engine
        lines.append(f"engine:   {engine.engine}, Java {engine.java}, Arrow {engine.arrow}, settings {engine.settings}")
    return lines


def _hash_in(text: str) -> Multihash | None:
    try:
        return Multihash.from_text(text)
    except MalformedIdentifier:
        return None


def _checked(room: ReportRoom | None, repository: str) -> ReportRoom:
    if room is None:
        raise UnsupportedOperation(f"{repository} is a server: it shows its reports itself", hint="--repo DIR")
    return room
