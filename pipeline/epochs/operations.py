"""Operations of the inputs on what a query made of their records (spec: Operation Types)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from opendatafabric.data.changelog import OperationType

Numbers = npt.NDArray[Any]


def carried_operations(positions: Numbers, operations: Numbers) -> Numbers:
    """The operation of each row: that of the record it came from, whose place in ``operations`` is its position.

    A correction stays one if each half gave one row, side by side. Of a half alone the old record is a retraction, the
    new one an append: a filter that keeps one half has the record leave or enter, and rows of lists have no other half.
    """
    carried = operations[positions]
    first = _begins_pair(positions, carried)
    second = np.concatenate([[False], first[:-1]]) if len(first) else first
    carried = np.where((carried == OperationType.CORRECT_FROM) & ~first, OperationType.RETRACT, carried)
    return np.where((carried == OperationType.CORRECT_TO) & ~second, OperationType.APPEND, carried)


def settled_rows(positions: Numbers, operations: Numbers) -> int:
    """How many of the first rows have an operation that does not depend on what rows come behind them."""
    if not len(positions):
        return 0
    last = _begin_of_run(positions, len(positions))
    may_be_pair = last > 0 and positions[last - 1] + 1 == positions[last]
    if may_be_pair and operations[positions[last - 1]] == OperationType.CORRECT_FROM:
        return _begin_of_run(positions, last)
    return last


def _begin_of_run(positions: Numbers, end: int) -> int:
    """Where the rows of the record begin whose last one is before ``end``."""
    others = np.flatnonzero(positions[:end] != positions[end - 1])
    return int(others[-1]) + 1 if len(others) else 0


def _begins_pair(positions: Numbers, carried: Numbers) -> Numbers:
    """Rows that are the old half of a correction, with the new one behind them."""
    alone = np.ones(len(positions), dtype=bool)
    same = positions[1:] == positions[:-1]
    alone[1:] &= ~same
    alone[:-1] &= ~same
    begins = np.zeros(len(positions), dtype=bool)
    begins[:-1] = (
        (carried[:-1] == OperationType.CORRECT_FROM)
        & (carried[1:] == OperationType.CORRECT_TO)
        & (positions[1:] == positions[:-1] + 1)
        & alone[:-1]
        & alone[1:]
    )
    return begins
