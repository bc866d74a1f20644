"""What a chain says of its dataset, gathered block by block: the pure part of the index of facts.

Records and bytes are those of the data slices, retractions and corrections included. Texts are cut where
``index_limits.py`` says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from opendatafabric.data.arrow_schema import arrow_schema_to_odf, read_legacy_schema
from opendatafabric.data.type_words import type_words
from opendatafabric.errors import MalformedData, MalformedInput
from opendatafabric.index_limits import INDEXED_ITEMS_MAX, INDEXED_TEXT_CHARS_MAX
from opendatafabric.instant import Instant
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import (
    AddData,
    AddPushSource,
    DisablePollingSource,
    DisablePushSource,
    ExecuteTransform,
    MetadataEvent,
    Seed,
    SetAttachments,
    SetDataSchema,
    SetInfo,
    SetLicense,
    SetPollingSource,
    SetTransform,
    SetVocab,
    UnknownEvent,
)
from opendatafabric.metadata.transform import Transform
from opendatafabric.multihash import Multihash

FORM: Final = 4
"""Which facts are gathered, as a number: those of another form are gathered again."""

PUSH_SOURCE: Final = "AddPushSource/"
"""What stands before the name of a push source among the ``events``."""

_KEPT: Final = (SetInfo, SetLicense, SetAttachments, SetDataSchema, SetPollingSource, SetTransform, SetVocab)


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """A column; the type in words."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class LicenseFacts:
    """As in the event."""

    short_name: str
    name: str
    spdx_id: str | None
    website_url: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What the chain up to ``head`` says; ``updated_at`` in seconds since 1970, ``bytes`` of data slices."""

    head: Multihash | None = None
    kind: str = "unknown"
    blocks: int = 0
    records: int = 0
    bytes: int = 0
    updated_at: float = 0.0
    watermark: str | None = None
    description: str | None = None
    keywords: tuple[str, ...] = ()
    license: LicenseFacts | None = None
    columns: tuple[ColumnFacts, ...] = ()
    events: Mapping[str, str] = field(default_factory=dict)
    """Hashes of the blocks that hold what is in force: by the name of the event, ``AddPushSource/NAME`` for sources. Of
    the last ``UnknownEvent`` too, which may be newer than any of them."""
    sql: str | None = None
    """The queries of a derivative, one after another."""
    form: int = FORM


@dataclass(frozen=True, slots=True)
class BlockFacts:
    """One block; ``records`` and ``bytes`` are those of the chain up to and including it."""

    sequence_number: int
    hash: Multihash
    system_time: float
    event: str
    records: int
    bytes: int


def with_block(facts: Facts, block: HashedBlock) -> tuple[Facts, BlockFacts]:
    """The facts after the next block, and what is told of the block itself."""
    event, at = block.event, seconds(block.block.system_time)
    after = replace(
        facts,
        head=block.hash,
        blocks=block.sequence_number + 1,
        updated_at=at,
        events=_events(facts.events, event, str(block.hash)),
        **_changes(facts, event),
    )
    name = "Unknown" if isinstance(event, UnknownEvent) else type(event).__name__
    return after, BlockFacts(block.sequence_number, block.hash, at, name, after.records, after.bytes)


def columns_of(event: SetDataSchema) -> tuple[ColumnFacts, ...]:
    """Its columns, as far as they can be read."""
    try:
        schema = event.schema or arrow_schema_to_odf(read_legacy_schema(event.raw_arrow_schema or b""))
    except MalformedData:
        return ()
    shown = schema.fields[:INDEXED_ITEMS_MAX]
    return tuple(ColumnFacts(_cut(each.name) or "", _cut(type_words(each.type)) or "") for each in shown)


def seconds(instant: Instant) -> float:
    """Since 1970; 0 for years that no clock has."""
    try:
        return instant.to_datetime().timestamp()
    except MalformedInput:
        return 0.0


def _changes(facts: Facts, event: MetadataEvent | UnknownEvent) -> dict[str, Any]:
    match event:
        case AddData() | ExecuteTransform():
            return _data(facts, event)
        case Seed():
            return {"kind": event.dataset_kind.name.lower()}
        case SetDataSchema():
            return {"columns": columns_of(event)}
        case SetTransform():
            return {"sql": _sql(event.transform)}
    return _annotations(event)


def _annotations(event: MetadataEvent | UnknownEvent) -> dict[str, Any]:
    match event:
        case SetInfo():
            return {"description": _cut(event.description), "keywords": _cut_all(event.keywords)}
        case SetLicense():
            texts = (event.short_name, event.name, event.spdx_id, event.website_url)
            return {"license": LicenseFacts(*map(_cut, texts))}  # type: ignore[arg-type]
    return {}


def _data(facts: Facts, event: AddData | ExecuteTransform) -> dict[str, Any]:
    added = event.new_data
    watermark = facts.watermark if event.new_watermark is None else str(event.new_watermark)
    if added is None:
        return {"watermark": watermark}
    return {
        "watermark": watermark,
        "records": facts.records + len(added.offset_interval),
        "bytes": facts.bytes + added.size,
    }


def _sql(transform: Transform) -> str | None:
    steps = [step.query for step in transform.queries or ()]
    return _cut("\n".join(steps if transform.query is None else [transform.query, *steps]))


def _events(known: Mapping[str, str], event: MetadataEvent | UnknownEvent, block_hash: str) -> Mapping[str, str]:
    match event:
        case AddPushSource(source_name) if len(known) < INDEXED_ITEMS_MAX:
            return {**known, PUSH_SOURCE + (_cut(source_name) or ""): block_hash}
        case DisablePushSource(source_name):
            return _without(known, PUSH_SOURCE + (_cut(source_name) or ""))
        case DisablePollingSource():
            return _without(known, SetPollingSource.__name__)
    return {**known, type(event).__name__: block_hash} if isinstance(event, (*_KEPT, UnknownEvent)) else known


def _without(known: Mapping[str, str], name: str) -> dict[str, str]:
    return {each: block_hash for each, block_hash in known.items() if each != name}


def _cut(text: str | None) -> str | None:
    return None if text is None else text[:INDEXED_TEXT_CHARS_MAX]


def _cut_all(texts: tuple[str, ...] | None) -> tuple[str, ...]:
    return tuple(_cut(each) or "" for each in (texts or ())[:INDEXED_ITEMS_MAX])
