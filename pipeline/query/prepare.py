"""From SQL and a catalogue of datasets to a request: the tables it names, at a moment, with their slices proved."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from opendatafabric.errors import BlockNotFound, DatasetNotFound, InvalidQuery, LimitExceeded, MalformedIdentifier
from opendatafabric.instant import Instant
from opendatafabric.limits import QUERY_CHARS_MAX
from opendatafabric.metadata.slices import DataSlice
from opendatafabric.multihash import Multihash
from opendatafabric.query_limits import QUERY_DATASETS_MAX
from pipeline.query.request import USUAL_LIMITS, QueryLimits, QueryRequest, QueryTable, RecordsWanted
from pipeline.query.table_names import TableName, table_names
from pipeline.sql_text import line_and_column
from storage.dataset import Dataset
from storage.records.moment import KnownHeads, KnownRecords, Moment, known_records
from storage.records.slice_files import AS_PROVED, Placing, place_slices
from storage.records.state import CHANGELOG, Wanted

Catalogue = Callable[[str], Awaitable[Dataset]]
"""The dataset of that name, for whoever asks; ``DatasetNotFound`` or ``MalformedIdentifier`` if there is none."""


@dataclass(frozen=True, slots=True)
class Sources:
    """How datasets are read: which heads are known, and how slices are placed."""

    heads: KnownHeads | None = None
    placing: Placing = AS_PROVED


ANY_SOURCES: Final = Sources()


@dataclass(frozen=True, slots=True)
class Asked:
    """At which moment all tables are read, and as what. Each of ``at_blocks`` lies on the chain of one of them; those
    of ``blocks`` are said by the names of tables.
    """

    at_blocks: Sequence[Multihash] = ()
    as_at: Instant | None = None
    wanted: Wanted = CHANGELOG
    blocks: Mapping[str, Multihash] = field(default_factory=dict)


async def prepare_query(
    sql: str,
    catalogue: Catalogue,
    folder: Path,
    asked: Asked,
    *,
    limits: QueryLimits = USUAL_LIMITS,
    sources: Sources = ANY_SOURCES,
) -> QueryRequest:
    """The request to run; slices are put into ``folder``, which has to be there as long as the query runs.

    Raises:
        InvalidQuery: a name that no dataset can have.
        DatasetNotFound: a name that none has.
        BlockNotFound: a block of ``at_blocks`` is on no chain that is read, or a chain is damaged.
        LimitExceeded: the text is too long, nested too deep, or the slices too large to fetch.
        HashMismatch, ObjectNotFound, StorageError, PeerUnavailable: as ``place_slice``.
    """
    if len(sql) > QUERY_CHARS_MAX:
        raise LimitExceeded("the query is too long", expected=f"at most {QUERY_CHARS_MAX} characters", found=len(sql))
    unmet = set(asked.at_blocks)
    tables = []
    names = table_names(sql)
    if len(names) > QUERY_DATASETS_MAX:
        raise LimitExceeded("the query reads too many datasets", expected=QUERY_DATASETS_MAX, found=len(names))
    for number, name in enumerate(names):
        dataset = await _found(sql, name, catalogue)
        here = [block for block in asked.at_blocks if await dataset.has_block(block)]
        unmet -= set(here)
        moment = Moment(asked.blocks.get(name.name, here[0] if here else None), asked.as_at)
        known = await known_records(dataset, moment, sources.heads)
        await place_slices(dataset, known.slices, folder / str(number), sources.placing)
        tables.append(_table(name, known, asked.wanted, folder / str(number)))
    if unmet:
        raise BlockNotFound(f"block {min(map(str, unmet))} is in none of the datasets that the query reads")
    return QueryRequest(sql, tuple(tables), limits)


async def _found(sql: str, name: TableName, catalogue: Catalogue) -> Dataset:
    place = f"(line {line_and_column(sql, name.start)})"
    try:
        return await catalogue(name.name)
    except DatasetNotFound as error:
        raise DatasetNotFound(f"the query reads '{name.name}', which is no dataset {place}", hint=error.hint) from None
    except MalformedIdentifier as error:
        raise InvalidQuery(
            f"the query reads '{name.name}', which names no dataset {place}: {error.message}", hint=error.hint
        ) from None


def _table(name: TableName, known: KnownRecords, wanted: Wanted, folder: Path) -> QueryTable:
    state = not name.state and not wanted.is_changelog
    return QueryTable(name.name, folder, known, state=state, as_of=wanted.as_of, function=name.state)


async def prepare_records(
    dataset: Dataset,
    known: KnownRecords,
    folder: Path,
    records: RecordsWanted,
    *,
    wanted: Wanted = CHANGELOG,
    placing: Placing = AS_PROVED,
) -> QueryRequest:
    """The request for ``records`` alone; of the changelog only slices that hold some of them are placed.

    Raises:
        LimitExceeded, HashMismatch, ObjectNotFound, StorageError, PeerUnavailable: as ``place_slices``.
    """
    if wanted.is_changelog:
        known = replace(known, slices=tuple(each for each in known.slices if _holds_some(each, records)))
    await place_slices(dataset, known.slices, folder / "0", placing)
    table = QueryTable("", folder / "0", known, state=wanted.state, as_of=wanted.as_of)
    return QueryRequest("", (table,), wanted=records)


def _holds_some(data_slice: DataSlice, records: RecordsWanted) -> bool:
    interval = data_slice.offset_interval
    return interval.start <= records.last and records.first <= interval.end
