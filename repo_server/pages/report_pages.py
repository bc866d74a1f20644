"""The pages of verification reports: the list of a dataset with its history, and one report.

Without a frame a page can be kept as a file and needs nothing but a browser.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from catalog.reports import KeptReport, VerdictSpan
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.metadata.slices import OffsetInterval
from opendatafabric.multihash import Multihash
from repo_server.pages.frame import ALONE_POLICY, Frame
from repo_server.pages.history_strip import history_strip
from repo_server.pages.templates import render
from repo_server.pages.verdict_words import in_words
from verify.redaction import LEFT_OUT
from verify.report_record import EnvironmentRecord, ReportRecord


def report_list_page(
    name: str, reports: Sequence[KeptReport], spans: Sequence[VerdictSpan], frame: Frame | None = None
) -> str:
    """The reports of the dataset ``name``, the newest first; links lead to ``reports/HASH`` beside the page."""
    return render(
        "reports.html",
        frame=frame,
        alone_policy=ALONE_POLICY,
        name=name,
        reports=reports,
        spans=spans,
        history=history_strip(reports),
    )


def report_page(
    report_hash: Multihash,
    record: ReportRecord,
    frame: Frame | None = None,
    path: DatasetAlias | None = None,
    records: Mapping[str, OffsetInterval] | None = None,
) -> str:
    """One report, whole; ``path`` is where its dataset lies here, ``records`` which ones its blocks hold, by hash."""
    return render(
        "report.html",
        frame=frame,
        alone_policy=ALONE_POLICY,
        report_hash=report_hash,
        record=record,
        path=path,
        words=in_words(record, records),
        left_out=LEFT_OUT,
        omitted=_omitted(record),
        environment=_environment(record.environment),
    )


def _omitted(record: ReportRecord) -> str:
    left = ((record.omitted_findings, "findings"), (record.omitted_blocks, "blocks"))
    return " and ".join(f"{count:,} {what}" for count, what in left if count)


def _environment(environment: EnvironmentRecord) -> list[tuple[str, str]]:
    engine = environment.engine
    rows = dict(sorted(environment.software.items()))
    rows |= {"platform": environment.platform, "time zones": environment.time_zone_data or "unknown"}
    if engine is not None:
        sandboxed = "in a sandbox" if engine.sandboxed else "without a sandbox"
        rows |= {"engine": f"{engine.engine}, {sandboxed}", "Java": engine.java, "settings": engine.settings}
        rows |= engine.configuration
    return [*rows.items()]
