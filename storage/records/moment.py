"""What of a dataset counts at a moment of system time: its slices, schema, names of columns and primary key.

System time never goes back along a chain, so what was known then is a prefix of the chain (spec: System Time, AS AT).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Final, cast, get_args

import pyarrow as pa

from opendatafabric.data.event_schema import arrow_schema
from opendatafabric.data.slice_format import system_fields
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.errors import BlockNotFound, NotFound, RefNotFound
from opendatafabric.instant import Instant
from opendatafabric.metadata import sources
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import (
    AddData,
    AddPushSource,
    ExecuteTransform,
    MetadataEvent,
    SetDataSchema,
    SetPollingSource,
    SetVocab,
    UnknownEvent,
    known_event,
)
from opendatafabric.metadata.slices import DataSlice
from opendatafabric.multihash import Multihash
from opendatafabric.query_limits import KNOWN_SLICES_MAX
from storage.dataset import Dataset

_HAS_STATE: Final = (
    sources.MergeStrategySnapshot,
    sources.MergeStrategyChangelogStream,
    sources.MergeStrategyUpsertStream,
)
"""Strategies under which a key has one record at a time. A ledger may hold several of one key, and takes none back."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Up to where the chain counts: to the block ``at_block``, and only blocks not after ``as_at``; by default all."""

    at_block: Multihash | None = None
    as_at: Instant | None = None


NOW: Final = Moment()


@dataclass(frozen=True, slots=True)
class KnownRecords:
    """What was known; ``head`` is the last block that counts, ``schema`` is in plain layouts of Arrow.

    ``primary_key`` is that of the sources, if all of them keep one record for each key, and the same key.
    """

    head: Multihash | None
    slices: tuple[DataSlice, ...]
    vocabulary: DatasetVocabulary
    schema: pa.Schema
    primary_key: tuple[str, ...] | None
    newest: Mapping[type, Any] = field(default_factory=dict)
    """The last event of each kind."""

    @property
    def count(self) -> int:
        """How many records, of all operations."""
        return sum(len(each.offset_interval) for each in self.slices)

    @property
    def next_offset(self) -> int:
        """Of the record that would come next."""
        return self.slices[-1].offset_interval.end + 1 if self.slices else 0


class KnownHeads:
    """What chains establish up to heads that were asked for, so that only blocks behind them need be read.

    Those asked for longest ago are forgotten; together they hold ``slices_max`` slices at most.
    """

    def __init__(self, slices_max: int = KNOWN_SLICES_MAX) -> None:
        self._slices_max = slices_max
        self._known: OrderedDict[Multihash, _Gathered] = OrderedDict()

    def get(self, head: Multihash) -> _Gathered | None:
        """What was gathered from the seed up to ``head``."""
        if head in self._known:
            self._known.move_to_end(head)
        return self._known.get(head)

    def put(self, gathered: _Gathered) -> None:
        """Keep what was gathered up to its head."""
        if gathered.head is not None:
            self._known[gathered.head] = gathered
        while sum(1 + len(each.slices) for each in self._known.values()) > self._slices_max:
            self._known.popitem(last=False)


async def known_records(dataset: Dataset, moment: Moment = NOW, heads: KnownHeads | None = None) -> KnownRecords:
    """What of ``dataset`` counts at ``moment``; of a moment before its first record there is nothing but the columns.

    Raises:
        RefNotFound: the dataset has no head.
        BlockNotFound: ``at_block`` is not on its chain, or the chain is damaged.
        UnsupportedVersion: schema or names of columns are of a newer version of the format.
    """
    head = await dataset.head()
    if head is None:
        raise RefNotFound("the dataset has no head yet")
    heads = KnownHeads() if heads is None else heads
    known = heads.get(head)
    if known is not None and moment.as_at is None and moment.at_block in {None, head}:
        return known.known()
    gathered = _Gathered(moment)
    async with aclosing(cast(Any, dataset.walk(head))) as batches:
        async for batch in batches:
            if gathered.take(batch, heads):
                break
    heads.put(gathered)
    if not gathered.reached:
        raise BlockNotFound(
            f"block {moment.at_block} is not on the chain of the dataset", hint="odf log shows the blocks"
        )
    return gathered.known()


def records_said_by(
    newest: Mapping[type, Any],
    slices: Sequence[DataSlice],
    head: Multihash | None,
    primary_key: tuple[str, ...] | None = None,
) -> KnownRecords:
    """The ``slices`` of a chain up to ``head``, with the last event of each kind on it.

    Raises:
        UnsupportedVersion: schema or names of columns are of a newer version of the format.
    """
    vocabulary = DatasetVocabulary.from_event(_known(newest, SetVocab))
    schema = _arrow_schema(_known(newest, SetDataSchema), vocabulary)
    return KnownRecords(head, tuple(slices), vocabulary, schema, primary_key, newest)


def schema_of(known: KnownRecords, columns: Sequence[str] | None) -> pa.Schema:
    """The schema of those columns, or of all.

    Raises:
        NotFound: there is no such column.
    """
    for name in columns or ():
        if name not in known.schema.names:
            raise NotFound(f"the dataset has no column '{name}'", hint=f"it has {', '.join(known.schema.names)}")
    return known.schema if columns is None else pa.schema([known.schema.field(name) for name in columns])


@dataclass(slots=True)
class _Gathered:
    """The chain, walked from its end: the newest of each event wins."""

    moment: Moment
    reached: bool = field(init=False)
    head: Multihash | None = None
    slices: list[DataSlice] = field(default_factory=list)
    newest: dict[type, Any] = field(default_factory=dict)
    merges: list[sources.MergeStrategy | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.reached = self.moment.at_block is None

    def take(self, batch: Iterable[HashedBlock], heads: KnownHeads) -> bool:
        """The next blocks; whether those before them are known, and taken too."""
        for block in batch:
            self.reached = self.reached or block.hash == self.moment.at_block
            if self.reached and (self.moment.as_at is None or block.block.system_time <= self.moment.as_at):
                self.head = self.head or block.hash
                known = heads.get(block.hash)
                if known is not None:
                    self._take_known(known)
                    return True
                self._take_event(block.event)
        return False

    def _take_known(self, known: _Gathered) -> None:
        self.slices += known.slices
        self.newest = {**known.newest, **self.newest}
        self.merges += known.merges

    def _take_event(self, event: Any) -> None:
        kind = _kind_of(event)
        self.newest.setdefault(kind, event)
        if kind in (AddData, ExecuteTransform):
            data: DataSlice | None = known_event(event, kind).new_data
            self.slices += [] if data is None else [data]
        if kind in (AddPushSource, SetPollingSource):
            self.merges.append(getattr(event, "merge", None))

    def known(self) -> KnownRecords:
        return records_said_by(self.newest, self.slices[::-1], self.head, _primary_key(self.merges))


def _known(newest: Mapping[type, Any], kind: type) -> Any:
    event = newest.get(kind)
    return None if event is None else known_event(event, kind)


def _kind_of(event: Any) -> type:
    kinds: tuple[type, ...] = get_args(MetadataEvent)
    if isinstance(event, UnknownEvent):
        return kinds[event.type_id - 1] if 0 < event.type_id <= len(kinds) else UnknownEvent
    return type(event)


def _arrow_schema(event: SetDataSchema | None, vocabulary: DatasetVocabulary) -> pa.Schema:
    """In plain layouts; before there is a schema, the columns that every slice has."""
    if event is None:
        return pa.schema(system_fields(vocabulary))
    return arrow_schema(event).remove_metadata()


def _primary_key(merges: Iterable[sources.MergeStrategy | None]) -> tuple[str, ...] | None:
    keys = {tuple(merge.primary_key) if isinstance(merge, _HAS_STATE) else None for merge in merges}
    return keys.pop() if len(keys) == 1 else None
