"""One step of an interval join: the pairs that became complete, and the records that are certain to stay alone.

A record is late by the watermark of its own input, so two that match were both taken however steps were cut. A pair is
given in the first step that has both, with the product of their signs. Records without any other are given, beside
nulls, in the first step whose watermark has passed all that could match; what was taken back by then does not match.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pipeline.epochs.found_rows import Query
from pipeline.epochs.join_plan import IntervalJoin, JoinSide
from pipeline.epochs.net_rows import net_rows
from pipeline.epochs.records import EpochResult, EpochStep, Integers, Mask, TaggedRecords


def joined(step: EpochStep, join: IntervalJoin, query: Query) -> EpochResult:
    """The rows of a step, and of each input what may still match."""
    step = step.timely
    found = [_pairs(step.only([*_partners(step, join)]), query)]
    if join.left.keeps_alone:
        found.append(_alone(step, join.left, join.right, query))
    if join.right.keeps_alone:
        found.append(_alone(step, join.right, join.left, lambda given: query(given).mirrored()))
    rows, signs = pa.concat_tables([each.rows for each in found]), np.concatenate([each.signs for each in found])
    return EpochResult(rows, signs, tuple(_kept(step, join)))


@dataclass(frozen=True, slots=True)
class _Signed:
    rows: pa.Table
    signs: Integers


def _partners(step: EpochStep, join: IntervalJoin) -> Iterator[Mask]:
    """Of each input the records that may be in a new pair: all where there are new ones to meet, else the new ones."""
    for index, is_new in enumerate(step.is_new):
        met = [two for one, two in ((join.left, join.right), (join.right, join.left)) if one.input == index]
        yield is_new | any(step.is_new[each.input].any() for each in met)


def _pairs(step: EpochStep, query: Query) -> _Signed:
    found = query([each.records for each in step.inputs])
    left, right = found.positions
    signs = np.concatenate([each.signs for each in step.inputs])
    is_new = np.concatenate(step.is_new)
    wanted = (left >= 0) & (right >= 0)
    wanted[wanted] = is_new[left[wanted]] | is_new[right[wanted]]
    return _Signed(found.rows.filter(pa.array(wanted)), signs[left[wanted]] * signs[right[wanted]])


def _alone(step: EpochStep, side: JoinSide, other: JoinSide, query: Query) -> _Signed:
    """Records of ``side`` that nothing of the ``other`` matches, when that is certain for the first time."""
    records, others = step.inputs[side.input], step.inputs[other.input]
    certain = records.times + side.wait_ms
    due = records.only((certain <= step.watermark) & (step.is_new[side.input] | (certain > step.watermark_before)))
    there = np.zeros(len(others), bool)
    there[net_rows(others.records, others.signs).rows] = True
    given = [each.records.slice(0, 0) for each in step.inputs]
    given[side.input], given[other.input] = due.records, others.only(there).records
    found = query(given)
    mine, theirs = found.positions
    wanted = (mine >= 0) & (theirs < 0)
    first = sum(map(len, given[: side.input]))
    return _Signed(found.rows.filter(pa.array(wanted)), due.signs[mine[wanted] - first])


def _kept(step: EpochStep, join: IntervalJoin) -> Iterator[TaggedRecords]:
    for index, each in enumerate(step.inputs):
        sides = [(join.left, join.right), (join.right, join.left)]
        waits = [_needed_ms(side, other) for side, other in sides if side.input == index]
        waited = each.times + max(waits) if waits else np.full(len(each), step.watermark)
        yield each.only(waited > step.watermark)


def _needed_ms(side: JoinSide, other: JoinSide) -> int:
    """How long after its time a record still matters: also to others that wait whether they stay alone."""
    return side.wait_ms + (max(other.wait_ms, 0) if other.keeps_alone else 0)
