"""Windows of time, in milliseconds: which of them a record is in, and which are closed by a watermark.

A window is closed when the watermark has reached its end; it does not hold its end. Nothing here knows of queries.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pipeline.epochs.records import Integers, Mask


@dataclass(frozen=True, slots=True)
class FixedWindows:
    """Windows of one ``size`` that begin every ``slide``, one of them at ``start``: a record is in one or several."""

    size: int
    slide: int
    start: int = 0

    def last_ends(self, times: Integers) -> Integers:
        """Where the last window of each record ends."""
        ends: Integers = times - (times - self.start) % self.slide + self.size
        return ends

    def close_between(self, times: Integers, after: Integers, until: int | Integers) -> Mask:
        """Of each record whether a window of it ends after ``after``, and not after ``until``."""
        last, floor = self.last_ends(times), np.maximum(times, after)
        first = last - (last - floor - 1) // self.slide * self.slide
        found: Mask = (last > floor) & (first <= until)
        return found


@dataclass(frozen=True, slots=True)
class SessionWindows:
    """Windows that end when there was nothing for a ``gap``."""

    gap: int


Windows = FixedWindows | SessionWindows
