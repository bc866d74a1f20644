"""Edges follow the chains: those of the transform in force, and none that a chain no longer says."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from catalog.catalog import Catalog
from catalog.events import EventType
from catalog.facts_refresh import refresh_facts
from catalog.lineage_edges import NamedInput, inputs_in
from catalog.lineage_graph import Node
from catalog.readers import OPERATOR
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.index_limits import INDEXED_ITEMS_MAX
from opendatafabric.metadata.events import DatasetKind, SetTransform
from opendatafabric.metadata.transform import TransformInput
from storage.dataset import Dataset
from storage.memory import MemoryObjectStore, MemoryRefStore
from tests.pipeline.transform.derived import id_of, query_over
from tests.storage.chains import ChainBuilder

MINE = id_of("mine")


def derived_from(*inputs: str) -> ChainBuilder:
    made = ChainBuilder(MINE, DatasetKind.DERIVATIVE)
    made.add(query_over("select 1", *inputs))
    return made


async def known_inputs(catalog: Catalog) -> set[str | None]:
    graph = await catalog.lineage.around(Node(MINE, DatasetAlias.from_text("mine")), OPERATOR)
    return {each.node.called for each in graph.upstream()}


async def grown(catalog: Catalog, dataset: Dataset, made: ChainBuilder, old: ChainBuilder | None = None) -> None:
    """Everything of ``made`` on top of ``old``, and the index told."""
    blocks = [each for each in made.blocks if not await dataset.has_block(each.hash)]
    await dataset.append(blocks, expected_head=None if old is None else old.head, force=True, check_objects=False)
    await refresh_facts(catalog.dataset_facts, MINE, dataset)


async def test_the_inputs_of_a_transform_are_known_once_its_block_is_read(catalog: Catalog) -> None:
    dataset = Dataset(MemoryObjectStore(), MemoryRefStore())
    await grown(catalog, dataset, derived_from("a", "b"))
    assert await known_inputs(catalog) == {"a", "b"}


async def test_another_transform_has_other_inputs_and_another_event_none(catalog: Catalog) -> None:
    dataset = Dataset(MemoryObjectStore(), MemoryRefStore())
    first = derived_from("a", "b")
    await grown(catalog, dataset, first)
    second = first.fork(2)
    second.info("the same")
    await grown(catalog, dataset, second, first)
    assert await known_inputs(catalog) == {"a", "b"}
    other = second.fork(3)
    other.add(query_over("select 1", "c"))
    await grown(catalog, dataset, other, second)
    assert await known_inputs(catalog) == {"c"}


async def test_what_a_replaced_chain_said_is_forgotten(catalog: Catalog) -> None:
    dataset = Dataset(MemoryObjectStore(), MemoryRefStore())
    first = derived_from("a")
    await grown(catalog, dataset, first)
    second = first.fork(1)
    second.info("no transform")
    await grown(catalog, dataset, second, first)
    assert await known_inputs(catalog) == set()


async def test_a_dataset_that_is_gone_is_made_of_nothing(catalog: Catalog) -> None:
    dataset = Dataset(MemoryObjectStore(), MemoryRefStore())
    await grown(catalog, dataset, derived_from("a"))
    await catalog.dataset_facts.forget(MINE)
    assert await known_inputs(catalog) == set()


async def test_an_index_from_before_is_gathered_again_and_nobody_is_told(catalog: Catalog, tmp_path: Path) -> None:
    dataset, made = Dataset(MemoryObjectStore(), MemoryRefStore()), derived_from("a")
    await grown(catalog, dataset, made)
    with sqlite3.connect(tmp_path / "catalog.sqlite") as connection:
        connection.execute("DELETE FROM dataset_inputs")
        connection.execute("UPDATE dataset_facts SET form = 1")
    assert await catalog.dataset_facts.heads() == {}
    before = await catalog.events.newest()
    await refresh_facts(catalog.dataset_facts, MINE, dataset)
    assert await known_inputs(catalog) == {"a"}
    assert await catalog.dataset_facts.heads() == {MINE: str(made.head)}
    assert await catalog.events.newest() == before
    made.info("new")
    await grown(catalog, dataset, made, derived_from("a"))
    (event,) = await catalog.events.after(before)
    assert event.type is EventType.HEAD_MOVED


def test_inputs_are_those_of_the_last_transform_by_their_ids() -> None:
    made = derived_from("a")
    assert inputs_in(made.blocks[:1]) is None
    made.add(query_over("select 1", "b", "c"))
    assert inputs_in(made.blocks) == (NamedInput(id_of("b"), "b"), NamedInput(id_of("c"), "c"))


def test_inputs_by_name_are_no_edges_and_too_many_are_cut() -> None:
    made = derived_from()
    twice = (TransformInput(id_of("a"), "first"), TransformInput(id_of("a"), "second"))
    by_name = TransformInput(DatasetAlias.from_text("b"), "b")
    many = tuple(TransformInput(id_of(str(number)), None) for number in range(INDEXED_ITEMS_MAX))
    transform = query_over("select 1").transform
    made.add(SetTransform((*twice, by_name, *many), transform))
    found = inputs_in(made.blocks)
    assert found is not None
    assert (found[0], len(found)) == (NamedInput(id_of("a"), "first"), INDEXED_ITEMS_MAX - 2)
