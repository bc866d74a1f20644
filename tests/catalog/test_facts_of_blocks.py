"""What a chain says of its dataset, block by block."""

from __future__ import annotations

import pytest

from catalog.facts_of_blocks import ColumnFacts, Facts, LicenseFacts, seconds, with_block
from opendatafabric.index_limits import INDEXED_ITEMS_MAX, INDEXED_TEXT_CHARS_MAX
from opendatafabric.instant import Instant
from opendatafabric.metadata.data_schema import DataField, DataSchema, DataTypeInt64
from opendatafabric.metadata.events import (
    AddPushSource,
    DisablePollingSource,
    DisablePushSource,
    MetadataEvent,
    SetDataSchema,
    SetInfo,
    SetLicense,
    SetPollingSource,
    UnknownEvent,
)
from opendatafabric.metadata.sources import FetchStepUrl, MergeStrategyAppend, ReadStepCsv
from tests.storage.chains import ChainBuilder

PUSH = AddPushSource("devices", ReadStepCsv(), None, MergeStrategyAppend())
POLL = SetPollingSource(FetchStepUrl("https://example.org/x.csv"), None, ReadStepCsv(), None, MergeStrategyAppend())


def facts_of(chain: ChainBuilder) -> Facts:
    facts = Facts()
    for block in chain.blocks:
        facts, _ = with_block(facts, block)
    return facts


def after(*events: MetadataEvent) -> Facts:
    chain = ChainBuilder()
    for event in events:
        chain.add(event)
    return facts_of(chain)


def test_records_and_bytes_add_up() -> None:
    chain = ChainBuilder()
    chain.data(b"12345")
    chain.data(b"123")
    facts = facts_of(chain)
    assert (facts.kind, facts.blocks, facts.records, facts.bytes) == ("root", 4, 20, 8)
    assert facts.head == chain.head


def test_every_block_is_told_with_the_totals_up_to_it() -> None:
    chain = ChainBuilder()
    chain.data(b"12345")
    facts, told = Facts(), []
    for block in chain.blocks:
        facts, row = with_block(facts, block)
        told.append((row.sequence_number, row.event, row.records, row.bytes))
    assert told == [(0, "Seed", 0, 0), (1, "SetDataSchema", 0, 0), (2, "AddData", 10, 5)]


def test_the_last_word_counts() -> None:
    facts = after(SetInfo("old", ("a",)), SetInfo("new", ("b", "c")))
    assert (facts.description, facts.keywords) == ("new", ("b", "c"))


def test_licence_and_columns_are_told() -> None:
    licence = SetLicense("CC0", "Creative Commons Zero", "CC0-1.0", "https://example.org/cc0")
    schema = SetDataSchema(schema=DataSchema((DataField("offset", DataTypeInt64()),)))
    facts = after(licence, schema)
    assert facts.license == LicenseFacts("CC0", "Creative Commons Zero", "CC0-1.0", "https://example.org/cc0")
    assert facts.columns == (ColumnFacts("offset", "Int64"),)


def test_a_schema_that_cannot_be_read_has_no_columns() -> None:
    assert after(SetDataSchema(raw_arrow_schema=b"nonsense")).columns == ()


@pytest.mark.parametrize(
    ("on", "off", "name"),
    [(PUSH, DisablePushSource("devices"), "AddPushSource/devices"), (POLL, DisablePollingSource(), "SetPollingSource")],
)
def test_sources_that_are_disabled_are_no_longer_in_force(on: MetadataEvent, off: MetadataEvent, name: str) -> None:
    assert name in after(on).events
    assert name not in after(on, off).events


def test_what_is_in_force_is_found_by_the_hash_of_its_block() -> None:
    chain = ChainBuilder()
    block = chain.info("text")
    assert facts_of(chain).events == {"SetInfo": str(block.hash)}


def test_texts_and_lists_are_cut() -> None:
    keywords = tuple(str(number) for number in range(INDEXED_ITEMS_MAX + 1))
    facts = after(SetInfo("x" * (INDEXED_TEXT_CHARS_MAX + 1), keywords))
    assert len(facts.description or "") == INDEXED_TEXT_CHARS_MAX
    assert len(facts.keywords) == INDEXED_ITEMS_MAX


def test_sources_without_end_do_not_fill_the_index() -> None:
    full = Facts(events={f"AddPushSource/{number}": "" for number in range(INDEXED_ITEMS_MAX)})
    chain = ChainBuilder()
    facts, _ = with_block(full, chain.add(PUSH))
    assert len(facts.events) == INDEXED_ITEMS_MAX


def test_an_event_of_a_later_version_changes_nothing_but_the_head() -> None:
    chain = ChainBuilder()
    known = chain.info("text")
    facts = facts_of(chain)
    unknown = UnknownEvent(99, "newer")
    block = type(known)(known.hash, known.raw, type(known.block)(known.block.system_time, None, 2, unknown))
    later, row = with_block(facts, block)
    assert (row.event, later.blocks, later.description) == ("Unknown", 3, "text")


@pytest.mark.parametrize(("year", "expected"), [(1970, 86_399.0), (-5, 0.0), (20_000, 0.0)])
def test_years_that_no_clock_has_are_the_start_of_time(year: int, expected: float) -> None:
    assert seconds(Instant(year, 1, 86_399)) == expected
