"""A dataset is a changelog: each record says what it does to the state (spec: Operation Types).

Records are never changed; later ones take earlier ones back. A correction is a pair: the old record (−C) and, as its
neighbour, the new one (+C), of the same primary key. The state it leads to is the subject of ``projection.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.errors import MalformedData


class OperationType(IntEnum):
    """What a record does, by the number in the ``op`` column."""

    APPEND = 0
    RETRACT = 1
    CORRECT_FROM = 2
    CORRECT_TO = 3

    @property
    def symbol(self) -> str:
        """The short form for people: ``+A``, ``-R``, ``-C``, ``+C``."""
        return ("+A", "-R", "-C", "+C")[self]


DEFAULT_VOCABULARY = DatasetVocabulary()


def first_unknown_operation(operations: pa.Array | pa.ChunkedArray) -> int | None:
    """The row of the first value that is none of the four, or null; ``None`` if all are known."""
    known = pc.fill_null(pc.is_in(operations.cast(pa.int64()), pa.array([*OperationType], pa.int64())), False)
    found = pc.index(known, False).as_py()
    return None if found < 0 else int(found)


def check_operations(records: pa.Table, vocabulary: DatasetVocabulary = DEFAULT_VOCABULARY) -> None:
    """That every record has one of the four operations.

    Raises:
        MalformedData: names the offset of the first record that has none.
    """
    operations = column_of(records, vocabulary.operation_type_column)
    first = first_unknown_operation(operations)
    if first is not None:
        raise MalformedData(
            f"the record at offset {_offset(records, vocabulary, first)} has no known operation type",
            expected="0, 1, 2 or 3",
            found=operations[first].as_py(),
        )


def check_corrections(
    records: pa.Table, primary_key: Sequence[str], vocabulary: DatasetVocabulary = DEFAULT_VOCABULARY
) -> None:
    """That corrections come in pairs: each −C right before a +C of the same key, each +C right after a −C.

    ``records`` are those of one slice, in the order of their offsets.

    Raises:
        MalformedData: names the offset of the first half without its other half.
    """
    check_operations(records, vocabulary)
    operations = _numpy(column_of(records, vocabulary.operation_type_column))
    old = operations == OperationType.CORRECT_FROM
    new = operations == OperationType.CORRECT_TO
    paired = np.zeros(len(operations), bool)
    paired[:-1] = old[:-1] & new[1:] & _equal_to_next(records, primary_key)
    lonely = (old & ~paired) | (new & ~np.concatenate([np.zeros(1, bool), paired[:-1]])[: len(new)])
    if lonely.any():
        first = int(np.flatnonzero(lonely)[0])
        raise MalformedData(
            f"the correction at offset {_offset(records, vocabulary, first)} lacks its other half",
            expected="-C and +C of one primary key, next to each other",
            found=OperationType(int(operations[first])).symbol,
        )


def _equal_to_next(records: pa.Table, primary_key: Sequence[str]) -> npt.NDArray[np.bool_]:
    """For each record but the last, whether the next one has the same key; nulls equal each other."""
    equal = np.ones(max(0, len(records) - 1), bool)
    for name in primary_key:
        column = column_of(records, name)
        this, following = column[:-1], column[1:]
        same = pc.fill_null(pc.equal(this, following), False)
        both_null = pc.and_(pc.is_null(this), pc.is_null(following))
        equal &= _numpy(pc.or_(same, both_null))
    return equal


def column_of(records: pa.Table, name: str) -> Any:
    if records.schema.names.count(name) != 1:
        raise MalformedData(f"the records have no column '{name}', or several", found=", ".join(records.schema.names))
    return records.column(name)


def _numpy(column: Any) -> Any:
    return column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy()


def _offset(records: pa.Table, vocabulary: DatasetVocabulary, row: int) -> object:
    return column_of(records, vocabulary.offset_column)[row].as_py()
