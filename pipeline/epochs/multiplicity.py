"""Records that are taken back, counted off against those that they take back.

Equal records are one with a count: what is added counts 1, what is taken back -1. A record that is late for a window
does not count in it, so the count may differ from window to window.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pipeline.epochs.records import Integers, Mask, TaggedRecords
from pipeline.projection.keys import combined, encode


@dataclass(frozen=True, slots=True)
class Counted:
    """Records that are left, by their ``rows``; one that is there several times is in them as often.

    Each counts in windows that end after ``after``, up to ``until``.
    """

    rows: Integers
    after: Integers
    until: Integers

    def only(self, wanted: Mask) -> Counted:
        """Those of them."""
        return Counted(self.rows[wanted], self.after[wanted], self.until[wanted])


def counted(tagged: TaggedRecords, after: Integers, until: int) -> Counted:
    """What is left of the records; each counts in windows that end after its ``after``, up to ``until``.

    Raises:
        MalformedData: some are taken back, and a column is of a type that has no equality.
    """
    rows, times, taken_back = np.arange(len(tagged)), tagged.times, tagged.signs < 0
    met = np.isin(times, times[taken_back]) if taken_back.any() else taken_back  # equal records have one time
    left = _left_of(tagged.only(met), after[met], until)
    alone = np.full(len(rows) - met.sum(), until)
    return Counted(
        np.concatenate([rows[~met], rows[met][left.rows]]),
        np.concatenate([after[~met], left.after]),
        np.concatenate([alone, left.until]),
    )


def _left_of(tagged: TaggedRecords, after: Integers, until: int) -> Counted:
    rows, groups = np.arange(len(tagged)), groups_of(tagged.records)
    order = np.lexsort((rows, after, groups))
    groups, after = groups[order], after[order]
    begins = _differs(groups)
    totals = _running(tagged.signs[order], begins)
    last_of_step = np.append(begins[1:] | (after[1:] != after[:-1]), True)[: len(rows)]
    next_after = np.append(np.where(begins[1:], until, after[1:]), until)[: len(rows)]
    first_rows = rows[order][np.maximum.accumulate(np.where(begins, rows, 0))]
    copies = np.where(last_of_step, np.maximum(totals, 0), 0)
    return Counted(np.repeat(first_rows, copies), np.repeat(after, copies), np.repeat(next_after, copies))


def groups_of(records: pa.Table) -> Integers:
    """A number for each record that equal ones have in common.

    Raises:
        MalformedData: a column is of a type that has no equality.
    """
    encoded = encode([combined(column) for column in records.columns], len(records))
    numbers: Integers = encoded.dictionary_encode().indices.to_numpy()
    return numbers


def _differs(groups: Integers) -> Mask:
    """Where another group begins."""
    begins = np.ones(len(groups), bool)
    begins[1:] = groups[1:] != groups[:-1]
    return begins


def _running(signs: Integers, begins: Mask) -> Integers:
    """Sums that begin anew with each group."""
    sums = np.cumsum(signs)
    before = np.where(begins, sums - signs, 0)
    places = np.maximum.accumulate(np.where(begins, np.arange(len(sums)), 0))
    running: Integers = sums - before[places]
    return running
