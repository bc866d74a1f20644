"""Reports of a repository found by what people type, and how they are printed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cli.datasets import Located, connected, is_address, opened_repository
from cli.output import print_line, print_table, print_text
from cli.report_rooms import report_room
from cli.server_reports import last_of, listed_by_server, located_on_server
from opendatafabric.dataset_ref import parse_dataset_ref
from opendatafabric.errors import MalformedIdentifier, ObjectNotFound
from opendatafabric.layout import REPORTS
from opendatafabric.multihash import Multihash
from repo_server.report_states import checked, plain_reports
from verify.redaction import LEFT_OUT
from verify.report_making import report_of
from verify.report_record import EnvironmentRecord, ReportRecord
from verify.report_room import read_report, read_told_report

_COLUMNS = ("REPORT", "ENDED", "VERDICT", "CHECKED", "HEAD")
_SPAN_COLUMNS = ("VERDICT", "FIRST SEEN", "LAST SEEN", "REPORTS")


async def reports_of(ref: str, repository: str) -> Mapping[str, Any]:
    """Those of a dataset here or on a server, the newest first, and how its verdict changed, as the API tells them.

    Raises:
        MalformedIdentifier, NotFound: as they say.
    """
    there = await located_on_server(ref, repository)
    if there is not None:
        return await listed_by_server(there)
    async with report_room(repository) as room, opened_repository(repository) as root:
        assert room is not None  # only servers have none
        kept = await room.listed.of((await root.find(parse_dataset_ref(ref))).id)
        return plain_reports(kept, kept)


async def found_report(text: str, repository: str) -> tuple[Multihash, bytes]:
    """The report of that hash, or the last one of the dataset that is called so, here or on a server, where
    ``ADDRESS/reports/HASH`` is a report.

    Raises:
        ObjectNotFound: there is none.
    """
    place, _, name = text.rpartition(f"/{REPORTS}/") if is_address(text) else (text, "", "")
    there = await located_on_server(place or text, repository)
    if there is not None:
        return await _on_server(there, Multihash.from_text(name) if place and name else None)
    async with report_room(repository) as room, opened_repository(repository) as root:
        assert room is not None  # only servers have none
        report_hash = _hash_in(text)
        if report_hash is not None:
            kept = await room.listed.find(report_hash)
        else:
            kept = await room.listed.last((await root.find(parse_dataset_ref(text))).id)
        if kept is None:
            raise _none(text)
        return kept.hash, await read_report((await root.find(kept.dataset_id)).dataset.objects, kept.hash)


async def _on_server(there: Located, report_hash: Multihash | None) -> tuple[Multihash, bytes]:
    wanted = report_hash or last_of(await listed_by_server(there))
    if wanted is None:
        raise _none(there.name)
    async with connected(there) as dataset:
        return wanted, await read_told_report(dataset.objects, wanted)


def _none(text: str) -> ObjectNotFound:
    return ObjectNotFound(f"there is no report {text}", hint="odf verify makes one, odf report list shows them")


def print_reports(told: Mapping[str, Any]) -> None:
    """The reports, and since when the verdict is what it is."""
    rows = [
        (each["report"], each["endedAt"], each["verdict"], checked(replayed=each["replayed"]), each.get("head") or "")
        for each in told["reports"]
    ]
    print_table(_COLUMNS, rows)
    print_line("")
    spans = told["history"]
    print_table(
        _SPAN_COLUMNS, [(each["verdict"], each["firstSeen"], each["lastSeen"], str(each["reports"])) for each in spans]
    )


def print_report(report_hash: Multihash, record: ReportRecord) -> None:
    """The report for people, the verdict last."""
    timings = record.timings
    print_line(f"report {report_hash}")
    if record.redacted_from is not None:
        print_line(f"redacted: {LEFT_OUT}")
    print_line(f"dataset:  {record.alias or 'without a name'}  {record.dataset_id or ''}".rstrip())
    print_line(f"head:     {record.head}")
    print_line(f"checked:  {checked(replayed=record.scope.replay)}, {timings.started_at} to {timings.ended_at}")
    for each in record.inputs:
        known = "not verified" if each.verdict is None else each.verdict.value
        print_line(f"input:    {each.dataset_id} at {each.block_hash}: {known}")
    for line in _computed_with(record.environment):
        print_line(line)
    print_text(report_of(record).as_text())


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
