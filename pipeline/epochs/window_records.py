"""Which records of an input the windows that a step closes need, and which have to be kept for later ones.

For windows of one size that follows from event times and watermarks. What belongs to a session is known to the query
alone, so there all records that are in time go through it, and it says which sessions are still open.
"""

from __future__ import annotations

import numpy as np

from pipeline.epochs.multiplicity import Counted, counted
from pipeline.epochs.records import NO_WATERMARK, EpochStep, TaggedRecords
from pipeline.epochs.windows import FixedWindows


def closing(tagged: TaggedRecords, windows: FixedWindows, step: EpochStep) -> Counted:
    """The records that are in a window which ends now, each with the bounds of the windows for which it counts."""
    times = tagged.times
    before = np.full(len(tagged), step.watermark_before)
    there = windows.close_between(times, before, step.watermark) & (times > NO_WATERMARK)
    rows = np.flatnonzero(there)
    some = tagged.only(there)
    found = counted(some, np.maximum(some.late_before, step.watermark_before), step.watermark)
    found = found.only(windows.close_between(times[rows[found.rows]], found.after, found.until))
    return Counted(rows[found.rows], found.after, found.until)


def still_open(tagged: TaggedRecords, windows: FixedWindows, step: EpochStep) -> TaggedRecords:
    """The records for which a later window counts."""
    times = tagged.times
    ends = windows.last_ends(times)
    return tagged.only((ends > step.watermark) & (ends > tagged.late_before) & (times > NO_WATERMARK))


def all_that_is_left(tagged: TaggedRecords, step: EpochStep) -> Counted:
    """The records that were not taken back."""
    return counted(tagged, np.full(len(tagged), step.watermark_before), step.watermark)


def of_open_sessions(tagged: TaggedRecords, oldest: int, step: EpochStep) -> TaggedRecords:
    """The records since the first open session began, and all that may still be met by an equal one.

    Those of closed sessions among them do no harm: what they are left in ends before the watermark, too.
    """
    times = tagged.times
    return tagged.only((times >= oldest) | (times > step.watermark))
