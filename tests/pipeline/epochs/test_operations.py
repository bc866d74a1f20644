"""Operations are carried, and a correction of which one half is left becomes what that half says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.epochs.operations import carried_operations, settled_rows

APPEND, RETRACT, FROM, TO = range(4)

CASES = {
    "appends and retractions stay": ([0, 1], [APPEND, RETRACT], [APPEND, RETRACT]),
    "a pair stays a pair": ([0, 1], [FROM, TO], [FROM, TO]),
    "an old half alone leaves": ([0], [FROM, TO], [RETRACT]),
    "a new half alone enters": ([1], [FROM, TO], [APPEND]),
    "halves of two pairs are no pair": ([0, 3], [FROM, TO, FROM, TO], [RETRACT, APPEND]),
    "pairs side by side": ([0, 1, 2, 3], [FROM, TO, FROM, TO], [FROM, TO, FROM, TO]),
    "an old half of two rows": ([0, 0, 1], [FROM, TO], [RETRACT, RETRACT, APPEND]),
    "a new half of two rows": ([0, 1, 1], [FROM, TO], [RETRACT, APPEND, APPEND]),
    "the same pair in two parts of a union": ([0, 1, 0, 1], [FROM, TO], [FROM, TO, FROM, TO]),
    "halves in two parts of a union": ([1, 0], [FROM, TO], [APPEND, RETRACT]),
    "nothing": ([], [FROM, TO], []),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_operations_follow_their_records(case: tuple[list[int], list[int], list[int]]) -> None:
    positions, operations, expected = case
    found = carried_operations(np.array(positions, np.int64), np.array(operations, np.int32))
    assert found.tolist() == expected


RECORDS = st.lists(st.sampled_from([[APPEND], [RETRACT], [FROM, TO]]), max_size=8).map(
    lambda units: [operation for unit in units for operation in unit]
)


@given(st.data(), RECORDS)
def test_halves_of_corrections_are_always_neighbours(data: st.DataObject, operations: list[int]) -> None:
    times = [data.draw(st.integers(0, 2)) for _ in operations]
    positions = np.repeat(np.arange(len(operations), dtype=np.int64), times)
    found = carried_operations(positions, np.array(operations, np.int32)).tolist()
    assert [at + 1 for at, each in enumerate(found) if each == FROM] == [
        at for at, each in enumerate(found) if each == TO
    ]


@given(st.data(), RECORDS)
def test_rows_count_for_and_against_as_their_records_did(data: st.DataObject, operations: list[int]) -> None:
    times = [data.draw(st.integers(0, 2)) for _ in operations]
    positions = np.repeat(np.arange(len(operations), dtype=np.int64), times)
    given_ = np.array(operations, np.int32)
    found = carried_operations(positions, given_)
    takes_back = [RETRACT, FROM]
    assert (np.isin(found, takes_back) == np.isin(given_[positions], takes_back)).all()


@given(st.data(), RECORDS)
def test_operations_are_the_same_of_rows_that_come_in_pieces(data: st.DataObject, operations: list[int]) -> None:
    times = [data.draw(st.integers(0, 3)) for _ in operations]
    positions = np.tile(np.repeat(np.arange(len(operations), dtype=np.int64), times), 2)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(positions)), max_size=4)))
    known, held, found = np.array(operations, np.int32), positions[:0], list[int]()
    for piece in np.split(positions, cuts):
        rows = np.concatenate([held, piece])
        end = settled_rows(rows, known)
        found += carried_operations(rows[:end], known).tolist()
        held = rows[end:]
    assert [*found, *carried_operations(held, known).tolist()] == carried_operations(positions, known).tolist()


def test_of_many_rows_only_those_of_the_last_records_wait() -> None:
    operations = np.array([APPEND, APPEND, FROM, TO], np.int32)
    assert settled_rows(np.array([0, 1, 1, 1], np.int64), operations) == 1
    assert settled_rows(np.array([0, 1, 2, 3], np.int64), operations) == 2
    assert settled_rows(np.array([], np.int64), operations) == 0
