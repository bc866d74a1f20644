"""From SQL and a catalogue of datasets to a request: the tables it names, at a moment, with their slices proved."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from opendatafabric.errors import BlockNotFound, DatasetNotFound, InvalidQuery, LimitExceeded, MalformedIdentifier
from opendatafabric.instant import Instant
from opendatafabric.limits import QUERY_CHARS_MAX
from opendatafabric.multihash import Multihash
from pipeline.query.request import USUAL_LIMITS, QueryLimits, QueryRequest, QueryTable
from pipeline.query.table_names import TableName, table_names
from pipeline.reading.moment import Moment, known_records
from pipeline.reading.slice_files import place_slice
from pipeline.reading.state import CHANGELOG, Wanted
from pipeline.sql_text import line_and_column
from storage.dataset import Dataset

Catalogue = Callable[[str], Awaitable[Dataset]]
"""The dataset of that name, for whoever asks; ``DatasetNotFound`` or ``MalformedIdentifier`` if there is none."""


@dataclass(frozen=True, slots=True)
class Asked:
    """At which moment all tables are read, and as what. Each of ``at_blocks`` lies on the chain of one of them."""

    at_blocks: Sequence[Multihash] = ()
    as_at: Instant | None = None
    wanted: Wanted = CHANGELOG


async def prepare_query(
    sql: str, catalogue: Catalogue, folder: Path, asked: Asked, limits: QueryLimits = USUAL_LIMITS
) -> QueryRequest:
    """The request to run; slices are put into ``folder``, which has to be there as long as the query runs.

    Raises:
        InvalidQuery: a name that no dataset can have.
        DatasetNotFound: a name that none has.
        BlockNotFound: a block of ``at_blocks`` is on no chain that is read, or a chain is damaged.
        LimitExceeded: the text is too long.
        HashMismatch, ObjectNotFound, StorageError, PeerUnavailable: as ``place_slice``.
    """
    if len(sql) > QUERY_CHARS_MAX:
        raise LimitExceeded("the query is too long", expected=f"at most {QUERY_CHARS_MAX} characters", found=len(sql))
    unmet = set(asked.at_blocks)
    tables = []
    for number, name in enumerate(table_names(sql)):
        dataset = await _found(sql, name, catalogue)
        here = [block for block in asked.at_blocks if await dataset.has_block(block)]
        unmet -= set(here)
        moment = Moment(here[0] if here else None, asked.as_at)
        tables.append(await _table(dataset, name, moment, asked.wanted, folder / str(number)))
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


async def _table(dataset: Dataset, name: TableName, moment: Moment, wanted: Wanted, folder: Path) -> QueryTable:
    known = await known_records(dataset, moment)
    await asyncio.to_thread(folder.mkdir)
    for number, data_slice in enumerate(known.slices):
        await place_slice(dataset, data_slice, folder / f"{number:09}")
    state = not name.state and not wanted.is_changelog
    return QueryTable(name.name, folder, known, state=state, as_of=wanted.as_of, function=name.state)
