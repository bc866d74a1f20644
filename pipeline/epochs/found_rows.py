"""What a query makes of records, and from which of them each row comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from pipeline.epochs.records import EpochResult, EpochStep, Integers


@dataclass(frozen=True, slots=True)
class FoundRows:
    """``positions`` are, of each input that the query reads, from left to right, the records of the rows.

    Records are numbered through all inputs; -1 is where an outer join found none. Rows come in the order of positions.
    """

    rows: pa.Table
    positions: tuple[Integers, ...]

    def mirrored(self) -> FoundRows:
        """With the inputs from right to left."""
        return FoundRows(self.rows, self.positions[::-1])


Query = Callable[[Sequence[pa.Table]], FoundRows]
"""The query over those records of the inputs, each table in the columns of its input."""

Operator = Callable[[EpochStep, Query], EpochResult]
"""What is due in a step, and what is kept for the next ones."""
