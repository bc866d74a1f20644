"""How a dataset stands, in a word: what the last report says, and whether it is about the head that is there now."""

from __future__ import annotations

from catalog.reports import KeptReport
from catalog.standings import Standing as Standing  # noqa: PLC0414  with what says it
from opendatafabric.multihash import Multihash
from verify.report import Verdict


def standing_of(last: KeptReport | None, head: Multihash | None) -> Standing:
    """From the ``last`` report and the ``head`` that is there."""
    if last is None or last.verdict == Verdict.ERROR.value:
        return Standing.UNKNOWN
    if last.verdict == Verdict.INVALID.value:
        return Standing.FAILING
    return Standing.VERIFIED if last.head == head else Standing.STALE
