"""What commands that add data have in common: times from the command line, and the line that says what came of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

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
    _print({"name": name, "file": file, **_told_of(outcome)}, measured, as_json=as_json)


def print_answer(name: str, answer: dict[str, Any], measured: Measured, *, file: str, as_json: bool) -> None:
    """The same for what a server answered."""
    told = {
        "changed": answer["changed"],
        "old_head": answer["oldHead"],
        "new_head": answer["newHead"],
        **answer["rows"],
        "logical_hash": answer["logicalHash"],
        "offsets": answer["offsets"],
        "watermark": answer["watermark"],
    }
    _print({"name": name, "file": file, **told}, measured, as_json=as_json)


def print_nothing_new(name: str, *, as_json: bool) -> None:
    """A poll whose source had nothing."""
    if as_json:
        print_json({"name": name, "changed": False}, indent=None)
    else:
        print_line(f"{name}: up to date")


def _print(told: dict[str, Any], measured: Measured, *, as_json: bool) -> None:
    read, records_per_s = told["read"], measured.per_s(told["read"])
    if as_json:
        pace = {"bytes": measured.size, "seconds": round(measured.seconds, 3), "records_per_s": round(records_per_s)}
        print_json({**told, **pace}, indent=None)
        return
    took = f"({format_bytes(measured.size)} in {measured.seconds:.1f} s, {records_per_s:,.0f} records/s)"
    if not told["changed"]:
        print_line(f"{told['name']}: nothing new, {read} records read {took}")
        return
    changes = f"+{told['appended']} appended, -{told['retracted']} retracted, ~{told['corrected']} corrected"
    print_line(f"{told['name']}: {read} records read, {changes}, head {told['new_head']} {took}")


def _told_of(outcome: Outcome) -> dict[str, Any]:
    rows, data = outcome.answer.rows, outcome.answer.data
    return {
        "changed": outcome.changed,
        "old_head": str(outcome.old_head),
        "new_head": str(outcome.new_head),
        "read": rows.read,
        "appended": rows.appended,
        "retracted": rows.retracted,
        "corrected": rows.corrected,
        "logical_hash": None if data is None else str(data.logical_hash),
        "offsets": None if data is None else [data.offset_interval.start, data.offset_interval.end],
        "watermark": None if outcome.watermark is None else str(outcome.watermark),
    }
