"""First blocks out of snapshots: what is brought into normal form, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from opendatafabric.chain.snapshot_blocks import blocks_from_snapshot
from opendatafabric.chain.validate import validate_chain
from opendatafabric.codec.block_codec import decode_block
from opendatafabric.dataset_ref import DatasetAlias, DatasetRef
from opendatafabric.did import DatasetId
from opendatafabric.errors import ChainError, DatasetNotFound, InvalidSnapshot
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import (
    AddData,
    AddPushSource,
    DatasetKind,
    DisablePollingSource,
    DisablePushSource,
    MetadataEvent,
    Seed,
    SetInfo,
    SetPollingSource,
    SetTransform,
)
from opendatafabric.metadata.snapshot import DatasetSnapshot
from opendatafabric.metadata.transform import SqlQueryStep, TransformInput, TransformSql
from tests.opendatafabric.chain.chain_samples import (
    DERIVATIVE,
    ROOT,
    SCHEMA,
    SELECT,
    dataset_id,
    executed,
    instant,
    polling_source,
    push_source,
    query,
    source_input,
    transform,
)

ALIAS = DatasetAlias.from_text("us.noaa.weather")
KNOWN = {ALIAS: dataset_id(5), dataset_id(2): dataset_id(2), dataset_id(3): dataset_id(3)}
SHORT = TransformSql("spark", query="select 1")


def resolve(reference: DatasetRef) -> DatasetId | None:
    return KNOWN.get(reference)


def blocks_of(kind: DatasetKind, *events: MetadataEvent) -> list[HashedBlock]:
    snapshot = DatasetSnapshot(DatasetAlias.from_text("mine"), kind, events)
    return blocks_from_snapshot(snapshot, dataset_id=dataset_id(1), system_time=instant(7), resolve_input=resolve)


def from_input(reference: DatasetRef, alias: str | None = None, how: TransformSql = SELECT) -> SetTransform:
    return SetTransform((TransformInput(reference, alias),), how)


def test_a_snapshot_without_events_is_a_seed() -> None:
    (seed,) = blocks_of(DatasetKind.ROOT)
    assert seed.event == Seed(dataset_id(1), DatasetKind.ROOT)
    assert (seed.sequence_number, seed.prev_block_hash, seed.block.system_time) == (0, None, instant(7))


def test_each_event_becomes_a_block_of_one_chain_at_one_time() -> None:
    blocks = blocks_of(DatasetKind.ROOT, polling_source(), SetInfo("x"), SCHEMA)
    assert [block.event for block in blocks[1:]] == [polling_source(), SetInfo("x"), SCHEMA]
    assert {block.block.system_time for block in blocks} == {instant(7)}
    assert validate_chain(blocks).block_count == 4
    assert [decode_block(block.raw) for block in blocks] == blocks


def test_a_single_query_becomes_a_list_of_one_step() -> None:
    blocks = blocks_of(DatasetKind.DERIVATIVE, from_input(ALIAS, "a", SHORT))
    assert blocks[1].event == from_input(dataset_id(5), "a", query((None, "select 1")))


@pytest.mark.parametrize("source", [push_source("a"), polling_source()], ids=["push", "polling"])
def test_the_same_in_the_preprocess_step_of_a_source(source: AddPushSource | SetPollingSource) -> None:
    blocks = blocks_of(DatasetKind.ROOT, replace(source, preprocess=SHORT))
    assert blocks[1].event == replace(
        source, preprocess=TransformSql("spark", queries=(SqlQueryStep(None, "select 1"),))
    )


def test_inputs_are_resolved_to_ids_and_take_their_reference_as_alias() -> None:
    event = blocks_of(DatasetKind.DERIVATIVE, from_input(ALIAS))[1].event
    assert event == from_input(dataset_id(5), "us.noaa.weather")


def test_all_missing_inputs_are_named_in_one_error() -> None:
    inputs = tuple(TransformInput(DatasetAlias.from_text(name), None) for name in ("b.c", "a", "us.noaa.weather"))
    with pytest.raises(DatasetNotFound, match=r": a, b\.c$"):
        blocks_of(DatasetKind.DERIVATIVE, SetTransform(inputs, SELECT))


@pytest.mark.parametrize(
    ("kind", "event"),
    [
        (DatasetKind.ROOT, transform(2)),
        (DatasetKind.DERIVATIVE, polling_source()),
        (DatasetKind.DERIVATIVE, push_source("a")),
        (DatasetKind.ROOT, ROOT),
        (DatasetKind.DERIVATIVE, DERIVATIVE),
        (DatasetKind.ROOT, AddData(new_watermark=instant(1))),
        (DatasetKind.DERIVATIVE, executed(source_input(2, None, 1))),
        (DatasetKind.ROOT, DisablePollingSource()),
        (DatasetKind.ROOT, DisablePushSource("a")),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, DatasetKind) else value.name,
)
def test_events_that_do_not_belong_into_a_snapshot_are_refused(kind: DatasetKind, event: MetadataEvent) -> None:
    with pytest.raises(InvalidSnapshot, match=type(event).__name__):
        blocks_of(kind, event)


@pytest.mark.parametrize(
    "how",
    [TransformSql("spark"), TransformSql("spark", query="q", queries=(SqlQueryStep(None, "q"),))],
    ids=["neither", "both"],
)
def test_a_transform_has_either_a_query_or_queries(how: TransformSql) -> None:
    with pytest.raises(InvalidSnapshot, match="either query or queries"):
        blocks_of(DatasetKind.DERIVATIVE, from_input(dataset_id(2), "a", how))


@pytest.mark.parametrize(
    ("kind", "events", "rule"),
    [
        (DatasetKind.DERIVATIVE, [from_input(dataset_id(2), "a", query((None, "p"), (None, "q")))], "B11"),
        (DatasetKind.DERIVATIVE, [transform(2, 2)], "B11"),
        (DatasetKind.DERIVATIVE, [SetTransform((), SELECT)], "B11"),
        (DatasetKind.ROOT, [polling_source(), push_source("a")], "P5"),
        (DatasetKind.ROOT, [push_source("a"), push_source("a")], "P5"),
    ],
    ids=["steps without alias", "an input twice", "no inputs", "two kinds of source", "a source twice"],
)
def test_the_rules_of_the_chain_apply(kind: DatasetKind, events: list[MetadataEvent], rule: str) -> None:
    with pytest.raises(ChainError) as caught:
        blocks_of(kind, *events)
    assert caught.value.rule == rule
