"""What a verdict says to those who may not read all inputs of a derivative.

Values of rows that repeating a step gave follow from the inputs, and what an engine says of its failure may quote them.
Without them stays which step is wrong, how, and at which offset and column.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from opendatafabric.multihash import Multihash
from verify.replayed import StepVerdict
from verify.report import Check, Finding
from verify.report_record import BlockRecord, FindingRecord, ReportRecord, RowRecord, StepRecord

LEFT_OUT: Final = "values are left out: they follow from inputs that not everybody may read who may read this"
_SAID: Final = {
    f"replay-{verdict.value}": told
    for verdict, told in {
        StepVerdict.MISMATCH: "the transform gives something else than the block says",
        StepVerdict.UNSUPPORTED_ENGINE: "there is no engine for the step",
        StepVerdict.INPUT_MISSING: "what the step read is not here, or could not be checked",
        StepVerdict.INPUT_INVALID: "what the step read is damaged or invalid",
        StepVerdict.ENGINE_ERROR: "the engine failed, or refused the query",
        StepVerdict.TIMED_OUT: "the step took too long",
    }.items()
} | {"replay-other-version": "another version of the engine gives what the block says, and ours does not"}


def without_values(finding: Finding) -> Finding:
    """The finding as anybody may see it."""
    if finding.check is not Check.TRANSFORMS:
        return finding
    return replace(finding, message=_said(finding.code), expected=None, found=None, hint=LEFT_OUT)


def redacted(record: ReportRecord, report_hash: Multihash) -> ReportRecord:
    """The report as anybody may see it, with the name of the whole; the report itself when nothing is left out."""
    blocks = tuple(map(_block, record.blocks))
    findings = tuple(map(_finding, record.findings))
    if (blocks, findings) == (record.blocks, record.findings):
        return record
    return record.model_copy(update={"blocks": blocks, "findings": findings, "redacted_from": str(report_hash)})


def _block(block: BlockRecord) -> BlockRecord:
    step = None if block.step is None else _step(block.step)
    return block.model_copy(update={"findings": tuple(map(_finding, block.findings)), "step": step})


def _finding(finding: FindingRecord) -> FindingRecord:
    if finding.check is not Check.TRANSFORMS:
        return finding
    left = {"message": _said(finding.code), "expected": None, "found": None, "hint": LEFT_OUT}
    return finding.model_copy(update=left)


def _said(code: str) -> str:
    return _SAID.get(code, "the step is not as its block says")


def _step(step: StepRecord) -> StepRecord:
    found = step.records_found if step.records_found == step.records_expected else None
    rows = tuple(RowRecord(offset=row.offset, column=row.column) for row in step.rows)
    return step.model_copy(update={"rows": rows, "records_found": found})
