"""Records of an input as operators of this dialect see them: with their operation, and what was known when they came.

An operator is a function of such records and of the watermarks of a step. It gives the rows that are due and says which
records it still needs; what it did before does not matter, so it does not matter either how steps were cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from opendatafabric.data.changelog import OperationType, check_operations
from opendatafabric.data.event_schema import arrow_schema
from opendatafabric.data.slice_format import TIMESTAMP
from opendatafabric.instant import Instant
from pipeline.ingest_request import milliseconds_of
from pipeline.transform.input_block import InputBlock
from pipeline.transform.records import new_records
from pipeline.transform.request import GivenInput

Integers = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

NO_WATERMARK: Final = int(np.iinfo(np.int64).min)
"""Before all times: nothing is late by it, and nothing is closed."""


@dataclass(frozen=True, slots=True)
class TaggedRecords:
    """``records`` are the columns of data, the event time among them; the others have one value for each record.

    ``late_before`` is the watermark of the input, in milliseconds, before the block that brought the record.
    """

    records: pa.Table
    event_time: str
    offsets: Integers
    operations: Integers
    late_before: Integers

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def signs(self) -> Integers:
        """1 for what a record adds, -1 for what it takes back."""
        return np.where(np.isin(self.operations, [OperationType.RETRACT, OperationType.CORRECT_FROM]), -1, 1)

    @property
    def times(self) -> Integers:
        """Event times in milliseconds; of those that have none, ``NO_WATERMARK``, so that they are late for all."""
        column = self.records.column(self.event_time)
        if pa.types.is_timestamp(column.type) and column.type.unit in ("us", "ns"):
            column = pc.floor_temporal(column, unit="millisecond")
        times: Integers = column.cast(TIMESTAMP).cast(pa.int64()).fill_null(NO_WATERMARK).to_numpy()
        return times

    def only(self, wanted: Mask) -> TaggedRecords:
        """Those of the records."""
        return TaggedRecords(
            self.records.filter(pa.array(wanted)),
            self.event_time,
            self.offsets[wanted],
            self.operations[wanted],
            self.late_before[wanted],
        )

    def none(self) -> TaggedRecords:
        """The same columns without any record."""
        return self.only(np.zeros(len(self), bool))

    def followed_by(self, later: TaggedRecords) -> TaggedRecords:
        """Those of both, of the same columns."""
        return TaggedRecords(
            pa.concat_tables([self.records, later.records]),
            self.event_time,
            np.concatenate([self.offsets, later.offsets]),
            np.concatenate([self.operations, later.operations]),
            np.concatenate([self.late_before, later.late_before]),
        )


@dataclass(frozen=True, slots=True)
class EpochStep:
    """What a step knows: of each input the records that were kept, and then the new ones.

    ``is_new`` tells which are which. Watermarks are those of the derivative, in milliseconds.
    """

    inputs: tuple[TaggedRecords, ...]
    is_new: tuple[Mask, ...]
    watermark_before: int
    watermark: int

    @property
    def timely(self) -> EpochStep:
        """Without the records whose own time their input had reached before they came."""
        return self.only([each.times > each.late_before for each in self.inputs])

    def only(self, wanted: Sequence[Mask]) -> EpochStep:
        """With those of the records of each input."""
        return EpochStep(
            tuple(each.only(mask) for each, mask in zip(self.inputs, wanted, strict=True)),
            tuple(is_new[mask] for is_new, mask in zip(self.is_new, wanted, strict=True)),
            self.watermark_before,
            self.watermark,
        )


@dataclass(frozen=True, slots=True)
class EpochResult:
    """What came of a step: ``rows``, of each the sign of what it adds or takes back, and of each input what is kept.

    Rows are in any order that follows from the step.
    """

    rows: pa.Table
    signs: Integers
    kept: tuple[TaggedRecords, ...]


def in_milliseconds(watermark: Instant | None) -> int:
    """A watermark as a number: event times are whole milliseconds."""
    return NO_WATERMARK if watermark is None else milliseconds_of(watermark)


def data_schema(given: GivenInput) -> pa.Schema:
    """The columns of data of an input, in their order; with nulls allowed, for such are in older slices."""
    vocabulary = given.vocabulary
    system = (vocabulary.offset_column, vocabulary.operation_type_column, vocabulary.system_time_column)
    fields = [field.with_nullable(True) for field in arrow_schema(given.schema) if field.name not in system]
    return pa.schema(fields)


def tagged_records(given: GivenInput, watermark_before: int) -> TaggedRecords:
    """The new records of an input. What the derivative has passed already is late as well: inputs may come later on.

    Raises:
        MalformedData: a slice cannot be read, or has an operation that there is not.
    """
    records, vocabulary = new_records(given), given.vocabulary
    check_operations(records, vocabulary)
    offsets = records.column(vocabulary.offset_column).to_numpy().astype(np.int64)
    schema = data_schema(given)
    return TaggedRecords(
        records.select(schema.names).cast(schema),
        vocabulary.event_time_column,
        offsets,
        records.column(vocabulary.operation_type_column).to_numpy(),
        np.maximum(_late_before(offsets, given.blocks), watermark_before),
    )


def _late_before(offsets: Integers, blocks: Sequence[InputBlock]) -> Integers:
    brought = [block for block in blocks if block.last_offset is not None]
    ends = np.array([block.last_offset for block in brought], np.int64)
    marks = np.array([in_milliseconds(block.watermark_before) for block in brought], np.int64)
    return marks[np.searchsorted(ends, offsets)] if len(offsets) else np.empty(0, np.int64)
