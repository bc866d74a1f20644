"""Records that are counted: what was taken back as often as it was added is not there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pipeline.epochs.multiplicity import groups_of
from pipeline.epochs.records import Integers


@dataclass(frozen=True, slots=True)
class NetRows:
    """``rows`` are the places of records that are different from each other, ``counts`` how often each is there."""

    rows: Integers
    counts: Integers

    def repeated(self) -> tuple[Integers, Integers]:
        """Each as often as it is there, or as it was taken back without being there; and the signs of them."""
        times = np.abs(self.counts)
        return np.repeat(self.rows, times), np.repeat(np.sign(self.counts), times)


def net_rows(records: pa.Table, signs: Integers) -> NetRows:
    """Equal records together, those left out that cancel; the first of each stands for all.

    Raises:
        MalformedData: a column of a type that has no equality here.
    """
    _, first, groups = np.unique(groups_of(records), return_index=True, return_inverse=True)
    counts = np.bincount(groups, weights=signs, minlength=len(first)).astype(np.int64)
    is_there = counts != 0
    return NetRows(first[is_there], counts[is_there])
