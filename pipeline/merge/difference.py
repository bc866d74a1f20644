"""What tells new rows from the state of a dataset: appended, retracted and corrected records.

Input and state are compared stretch by stretch, both by the hash of their keys; records are picked whole by their
places, so they keep their types. What comes out is sorted by key and operation at the end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from opendatafabric.data.changelog import OperationType
from pipeline.declared import to_declared
from pipeline.merge.context import MergeContext, Merged, in_key_order
from pipeline.merge.equality import differing
from pipeline.projection.keys import Rows, keys_of
from pipeline.projection.projection import Stretch


@dataclass(frozen=True, slots=True)
class Difference:
    """How to compare: by which key, which columns, and what a key means that the input does not have.

    ``retract`` says of each row whether it takes its key back, if the input says so itself.
    """

    primary_key: tuple[str, ...]
    compare: tuple[str, ...]
    missing_is_retracted: bool
    retract: npt.NDArray[np.bool_] | None = None


def changes(records: pa.Table, difference: Difference, context: MergeContext) -> Merged:
    """The changes that lead from the state of the dataset to ``records``, in order."""
    found = _Found(records, difference, context.vocabulary.event_time_column)
    if context.history is None:
        found.take_new(np.arange(len(records)))
    else:
        keys = keys_of(records, difference.primary_key)
        for stretch in context.history.stretches(keys, whole=difference.missing_is_retracted):
            found.take(stretch)
    rows, operations = found.changes()
    return context.finished(*in_key_order(rows, difference.primary_key, operations))


@dataclass
class _Found:
    """The changes so far: rows of the input by their number, old records as they are."""

    records: pa.Table
    difference: Difference
    event_time: str
    pieces: list[tuple[pa.Table, OperationType]] = field(default_factory=list)

    def take(self, stretch: Stretch) -> None:
        """Compare a part of the input with a part of the state."""
        is_held = stretch.held >= 0
        self.take_new(stretch.rows[~is_held])
        rows, held = stretch.rows[is_held], stretch.held[is_held]
        retracts = self._retracts(rows)
        self._add_old(stretch.state, held[retracts], OperationType.RETRACT)
        if self.difference.missing_is_retracted:
            is_missing = np.ones(len(stretch.state), bool)
            is_missing[held] = False
            self._add_old(stretch.state, np.flatnonzero(is_missing), OperationType.RETRACT)
        rows, held = rows[~retracts], held[~retracts]
        differs = self._differs(rows, stretch.state, held)
        self._add_old(stretch.state, held[differs], OperationType.CORRECT_FROM)
        self._add(self.records, rows[differs], OperationType.CORRECT_TO)

    def take_new(self, rows: Rows) -> None:
        """Rows whose key the state does not have."""
        self._add(self.records, rows[~self._retracts(rows)], OperationType.APPEND)

    def changes(self) -> tuple[pa.Table, pa.ChunkedArray]:
        """All rows and their operations."""
        operations = [pa.repeat(pa.scalar(int(operation), pa.int32()), len(rows)) for rows, operation in self.pieces]
        tables = [self.records.slice(0, 0), *(rows for rows, _ in self.pieces)]
        return pa.concat_tables(tables), pa.chunked_array(operations, pa.int32())

    def _retracts(self, rows: Rows) -> npt.NDArray[np.bool_]:
        retract = self.difference.retract
        return np.zeros(len(rows), bool) if retract is None else retract[rows]

    def _differs(self, rows: Rows, state: pa.Table, held: Rows) -> npt.NDArray[np.bool_]:
        found = np.zeros(len(rows), bool)
        for name in self.difference.compare:
            new = self.records.column(name).take(pa.array(rows))
            differs = differing(new, state.column(name).take(pa.array(held)))
            found |= differs & new.is_valid().to_numpy() if name == self.event_time else differs
        return found

    def _add(self, records: pa.Table, rows: Rows, operation: OperationType) -> None:
        if len(rows):
            self.pieces.append((records.take(pa.array(rows)), operation))

    def _add_old(self, state: pa.Table, rows: Rows, operation: OperationType) -> None:
        if len(rows):
            self.pieces.append((_in_schema(state.take(pa.array(rows)), self.records.schema), operation))


def _in_schema(old: pa.Table, schema: pa.Schema) -> pa.Table:
    nullable: Any = pa.schema([column.with_nullable(True) for column in schema])
    return to_declared(old.select(schema.names), nullable).cast(schema)
