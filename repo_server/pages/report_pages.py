"""The pages of verification reports: the list of a dataset with its history, and one report.

Everything in a report may come from whoever made the dataset: all of it is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from catalog.reports import KeptReport, VerdictSpan
from opendatafabric.multihash import Multihash
from repo_server.moments import moment
from repo_server.pages.frame import facts, page, table, verdict
from repo_server.pages.history_strip import history_strip
from repo_server.pages.html import Html, element, joined
from repo_server.report_states import checked
from verify.redaction import LEFT_OUT
from verify.report_record import BlockRecord, EnvironmentRecord, FindingRecord, InputRecord, ReportRecord, StepRecord

_SHORT_CHARS = 17


def report_list_page(name: str, reports: Sequence[KeptReport], spans: Sequence[VerdictSpan]) -> str:
    """The reports of the dataset ``name``, the newest first; links lead to ``reports/HASH`` beside the page."""
    title = f"Verification of {name}"
    body = [element("h1", title)]
    if not reports:
        return page(title, *body, element("p", "No verification has been made here yet."))
    body.append(element("p", "The last verdict: ", verdict(reports[0].verdict), f", {moment(reports[0].ended_at)}"))
    seen = [(verdict(each.verdict), moment(each.first_seen), moment(each.last_seen), str(each.count)) for each in spans]
    body += [
        element("h2", "How the verdict changed"),
        history_strip(reports),
        table("History of the verdict", ("Verdict", "First seen", "Last seen", "Reports"), seen),
        element("h2", "Reports"),
        table("Reports", ("Ended", "Verdict", "Checked", "Head", "Report"), [_row(each) for each in reports]),
    ]
    return page(title, *body)


def report_page(report_hash: Multihash, record: ReportRecord) -> str:
    """One report, whole."""
    name = record.alias or record.dataset_id or "a dataset"
    return page(
        f"Verification report of {name}: {record.verdict.value}",
        element("h1", f"Verification report of {name}"),
        *([] if record.redacted_from is None else [element("p", element("strong", "redacted"), f": {LEFT_OUT}.")]),
        _summary(report_hash, record),
        element("h2", "Checks"),
        table(
            "Checks",
            ("Check", "Verdict", "Findings"),
            [(each.check.value, verdict(each.verdict.value), str(each.findings)) for each in record.checks],
        ),
        *_findings(record),
        *_inputs(record.inputs),
        element("h2", "Environment"),
        _environment(record.environment),
        element("footer", "The report is the JSON document of this hash: ", _code(str(report_hash))),
    )


def _row(report: KeptReport) -> tuple[str | None, ...]:
    link = element("a", _short(str(report.hash)), href=f"reports/{report.hash}")
    head = None if report.head is None else _short(str(report.head))
    return moment(report.ended_at), verdict(report.verdict), checked(replayed=report.replayed), head, link


def _summary(report_hash: Multihash, record: ReportRecord) -> Html:
    counts, timings = record.counts, record.timings
    took = f"{timings.integrity_ms:,} ms for integrity"
    if timings.replay_ms is not None:
        took += f", {timings.replay_ms:,} ms for transforms"
    return facts(
        Verdict=verdict(record.verdict.value),
        Dataset=_code(record.dataset_id),
        Head=_code(record.head),
        Since=_code(record.scope.since),
        Checked=checked(replayed=record.scope.replay),
        Began=timings.started_at,
        Ended=timings.ended_at,
        Took=took,
        Looked_at=f"{counts.blocks:,} blocks, {counts.objects:,} objects, {counts.records:,} records",
    )


def _findings(record: ReportRecord) -> Iterator[Html]:
    yield element("h2", "Findings")
    if not (record.blocks or record.findings):
        yield element("p", "Nothing was found: every block and object that was looked at is what it should be.")
    yield from (_finding(each) for each in record.findings)
    yield from (_block(each) for each in record.blocks)
    left = [(record.omitted_findings, "findings"), (record.omitted_blocks, "blocks")]
    if any(count for count, _ in left):
        told = " and ".join(f"{count:,} {what}" for count, what in left if count)
        yield element("p", f"The report has no room for {told} more.")


def _block(block: BlockRecord) -> Html:
    number = "of unknown number" if block.sequence_number is None else str(block.sequence_number)
    return element(
        "article",
        element("h3", f"Block {number}: ", verdict(block.verdict.value)),
        element("p", _code(block.block_hash)),
        *(_finding(each) for each in block.findings),
        None if block.step is None else _step(block.step),
    )


def _finding(finding: FindingRecord) -> Html:
    severity = element("strong", finding.severity.value, class_=finding.severity.value)
    told = element("p", severity, " ", _code(finding.code), " ", finding.message)
    offset = None if finding.offset is None else str(finding.offset)
    rest = {"Offset": offset, "Column": finding.column, "Object": finding.object_key}
    rest |= {"Expected": finding.expected, "Found": finding.found}
    coded = {name: _code(text) for name, text in rest.items()}
    return joined(told, facts(**coded, Hint=finding.hint) if any((*rest.values(), finding.hint)) else None)


def _step(step: StepRecord) -> Html:
    found = "none" if step.records_found is None else f"{step.records_found:,}"
    judged = step.verdict.value if step.agreed is None else f"{step.verdict.value} by {step.agreed}"
    numbers = f"Records: {step.records_expected:,} recorded, {found} found."
    rows = [(str(row.offset), _code(row.column), _code(row.expected), _code(row.found)) for row in step.rows]
    differing = table("Rows that differ", ("Offset", "Column", "Recorded", "Found"), rows) if rows else None
    return joined(element("p", f"The step was repeated: {judged}. {numbers}"), differing)


def _inputs(inputs: Sequence[InputRecord]) -> Iterator[Html]:
    if not inputs:
        return
    rows = [
        (
            _code(each.dataset_id),
            _code(each.block_hash),
            "not verified here" if each.verdict is None else verdict(each.verdict.value),
            _code(each.report),
        )
        for each in inputs
    ]
    yield element("h2", "Inputs")
    yield element("p", "A derivative is as valid as what it was made of.")
    yield table("Inputs", ("Dataset", "Read up to block", "Verdict", "By report"), rows)


def _environment(environment: EnvironmentRecord) -> Html:
    engine = environment.engine
    rows = dict(sorted(environment.software.items()))
    rows |= {"platform": environment.platform, "time zones": environment.time_zone_data or "unknown"}
    if engine is not None:
        sandboxed = "in a sandbox" if engine.sandboxed else "without a sandbox"
        rows |= {"engine": f"{engine.engine}, {sandboxed}", "Java": engine.java, "settings": engine.settings}
        rows |= engine.configuration
    return facts(**rows)


def _code(text: str | None) -> Html | None:
    return None if text is None else element("code", text)


def _short(report_hash: str) -> Html:
    return element("code", f"{report_hash[:_SHORT_CHARS]}…", title=report_hash)
