"""What commands that add data have in common: times from the command line, and the line that says what came of it."""

from __future__ import annotations

from datetime import UTC, datetime

from cli.meter import Measured
from cli.output import format_bytes, print_json, print_line
from opendatafabric.instant import Instant
from pipeline.commit import Outcome


def instant_option(text: str | None) -> Instant | None:
    """A time as people give it.

    Raises:
        MalformedInput: no RFC 3339 time.
    """
    return None if text is None else Instant.from_rfc3339(text)


def now_or(moment: Instant | None) -> Instant:
    """The time given, or that of the clock."""
    return moment or Instant.from_datetime(datetime.now(UTC))


def print_outcome(name: str, outcome: Outcome, measured: Measured, *, file: str | None = None, as_json: bool) -> None:
    """One line, or one JSON object a line."""
    if as_json:
        print_json(_as_dict(name, outcome, measured, file), indent=None)
        return
    rows = outcome.answer.rows
    pace = f"({format_bytes(measured.size)} in {measured.seconds:.1f} s, {measured.per_s(rows.read):,.0f} records/s)"
    if not outcome.changed:
        print_line(f"{name}: nothing new, {rows.read} records read {pace}")
        return
    told = f"+{rows.appended} appended, -{rows.retracted} retracted, ~{rows.corrected} corrected"
    print_line(f"{name}: {rows.read} records read, {told}, head {outcome.new_head} {pace}")


def print_nothing_new(name: str, *, as_json: bool) -> None:
    """A poll whose source had nothing."""
    if as_json:
        print_json({"name": name, "changed": False}, indent=None)
    else:
        print_line(f"{name}: up to date")


def _as_dict(name: str, outcome: Outcome, measured: Measured, file: str | None) -> dict[str, object]:
    rows, data = outcome.answer.rows, outcome.answer.data
    return {
        "name": name,
        "file": file,
        "changed": outcome.changed,
        "old_head": str(outcome.old_head),
        "new_head": str(outcome.new_head),
        "bytes": measured.size,
        "seconds": round(measured.seconds, 3),
        "records_per_s": round(measured.per_s(rows.read)),
        "read": rows.read,
        "appended": rows.appended,
        "retracted": rows.retracted,
        "corrected": rows.corrected,
        "logical_hash": None if data is None else str(data.logical_hash),
        "offsets": None if data is None else [data.offset_interval.start, data.offset_interval.end],
        "watermark": None if outcome.watermark is None else str(outcome.watermark),
    }
