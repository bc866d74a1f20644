"""Which records of a changelog make up its state, found slice by slice from as few columns as will do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from opendatafabric.data import projection
from opendatafabric.data.arrow_storage import without_views
from opendatafabric.data.changelog import OperationType
from opendatafabric.instant import Instant
from storage.records.moment import KnownRecords, schema_of
from storage.records.slice_files import slice_batches

Tables = Callable[[Sequence[str]], Iterator[pa.Table]]
"""Some columns of all records, a table for each slice, as often as asked for."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Every record; or, for ``state``, retractions and corrections carried out, or of that what happened ``as_of``."""

    state: bool = False
    as_of: Instant | None = None

    @property
    def is_changelog(self) -> bool:
        """Whether every record is wanted."""
        return not self.state and self.as_of is None


CHANGELOG: Final = Wanted()


def state_offsets(files: Iterable[Path], known: KnownRecords, as_of: Instant | None = None) -> pa.Array:
    """Offsets, ascending, of the records of the state; with ``as_of`` of those of them that had happened by then.

    Raises:
        MalformedData: the files are not those of a changelog, or their primary key cannot be compared.
    """
    paths = tuple(files)
    if not paths:
        return pa.array([], pa.int64())

    def tables(columns: Sequence[str]) -> Iterator[pa.Table]:
        schema = schema_of(known, columns)
        for path in paths:
            yield pa.Table.from_batches(slice_batches(path, known.schema, columns), schema)

    stays = _by_values(tables, known) if known.primary_key is None else _by_key(tables, known, known.primary_key)
    if as_of is not None:
        stays = _happened(tables, known, stays, as_of)
    return stays


def _by_key(tables: Tables, known: KnownRecords, primary_key: Sequence[str]) -> pa.Array:
    vocabulary = known.vocabulary
    offset, operation = vocabulary.offset_column, vocabulary.operation_type_column
    latest: list[pa.Table] = []
    for table in tables(list(dict.fromkeys([offset, operation, *primary_key]))):
        both = pa.concat_tables([*latest, without_views(table)])
        latest = [projection.latest_records(both, primary_key, vocabulary)]
    return _offsets(projection.project(latest[0], primary_key, vocabulary).column(offset))


def _by_values(tables: Tables, known: KnownRecords) -> pa.Array:
    vocabulary, names = known.vocabulary, known.schema.names
    offset, operation = vocabulary.offset_column, vocabulary.operation_type_column
    stays: list[pa.Array] = [pa.array([], pa.int64())]
    takes_back = False
    for table in tables([offset, operation]):
        adds = pc.is_in(table.column(operation).cast(pa.int64()), pa.array([*_ADDS], pa.int64()))
        stays.append(_offsets(table.column(offset).filter(adds)))
        takes_back = takes_back or not pc.all(adds, min_count=0).as_py()
    found = pa.concat_arrays(stays)
    if not takes_back:
        return found
    reversing = pa.concat_tables([projection.reversals(table, vocabulary) for table in tables(names)])
    suspects = pa.concat_tables([projection.suspects(table, reversing, vocabulary) for table in tables(names)])
    return found.filter(pc.invert(pc.is_in(found, projection.taken_back(suspects, vocabulary))))


def _happened(tables: Tables, known: KnownRecords, stays: pa.Array, as_of: Instant) -> pa.Array:
    vocabulary = known.vocabulary
    offset = vocabulary.offset_column
    by_then = [
        _offsets(table.column(offset).filter(projection.happened_by(table, as_of, vocabulary)))
        for table in tables([offset, vocabulary.event_time_column])
    ]
    return stays.filter(pc.is_in(stays, pa.concat_arrays([*by_then, pa.array([], pa.int64())])))


def _offsets(column: pa.ChunkedArray) -> pa.Array:
    return column.cast(pa.int64()).combine_chunks()


_ADDS = (OperationType.APPEND, OperationType.CORRECT_TO)
