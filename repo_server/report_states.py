"""Reports and the history of a verdict as JSON values: for the API and for the command line."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import TypedDict

from catalog.reports import KeptReport, VerdictSpan, history
from repo_server.moments import moment


class ReportEntry(TypedDict):
    """A report that is kept."""

    report: str
    endedAt: str
    verdict: str
    replayed: bool
    head: str | None


class VerdictEntry(TypedDict):
    """How long a verdict held."""

    verdict: str
    firstSeen: str
    lastSeen: str
    reports: int


class ReportList(TypedDict):
    """The reports of a dataset, the newest first, and how the verdict changed."""

    reports: list[ReportEntry]
    history: list[VerdictEntry]


def plain_reports(shown: Sequence[KeptReport], newest_first: Sequence[KeptReport]) -> ReportList:
    """Some or all reports of a dataset, and how its verdict changed in all of them."""
    return {"reports": list(map(_plain, shown)), "history": list(map(_plain_span, history(newest_first)))}


def checked(*, replayed: bool) -> str:
    """What was asked for."""
    return "integrity and transforms" if replayed else "integrity"


def _plain(report: KeptReport) -> ReportEntry:
    return {
        "report": str(report.hash),
        "endedAt": moment(report.ended_at),
        "verdict": report.verdict,
        "replayed": report.replayed,
        "head": None if report.head is None else str(report.head),
    }


def _plain_span(span: VerdictSpan) -> VerdictEntry:
    return {
        "verdict": span.verdict,
        "firstSeen": moment(span.first_seen),
        "lastSeen": moment(span.last_seen),
        "reports": span.count,
    }
