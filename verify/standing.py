"""How a dataset stands, in a word: what the last report says, and whether it is about the head that is there now."""

from __future__ import annotations

from enum import StrEnum

from catalog.reports import KeptReport
from opendatafabric.multihash import Multihash
from verify.report import Verdict


class Standing(StrEnum):
    """Of a dataset, as far as this repository knows."""

    VERIFIED = "verified"
    FAILING = "failing"
    """The last report found damage: in this head, or in one before it on which it may rest."""
    STALE = "stale"
    """What was verified was an older head."""
    UNKNOWN = "unknown"
    """It was never verified, or not everything could be checked."""


def standing_of(last: KeptReport | None, head: Multihash | None) -> Standing:
    """From the ``last`` report and the ``head`` that is there."""
    if last is None or last.verdict == Verdict.ERROR.value:
        return Standing.UNKNOWN
    if last.verdict == Verdict.INVALID.value:
        return Standing.FAILING
    return Standing.VERIFIED if last.head == head else Standing.STALE
