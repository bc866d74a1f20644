"""Inputs come before what is derived from them, each once, whatever the shape."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opendatafabric.chain.snapshot_blocks import blocks_from_snapshot
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId, new_dataset_id
from opendatafabric.instant import Instant
from opendatafabric.metadata.events import DatasetKind, SetTransform
from opendatafabric.metadata.snapshot import DatasetSnapshot
from opendatafabric.metadata.transform import SqlQueryStep, TransformInput, TransformSql
from pipeline.pull_order import inputs_first
from storage.repository import DatasetEntry, Repository

NOW = Instant.from_rfc3339("2024-01-01T00:00:00Z")


def id_of(name: str) -> DatasetId:
    """The id of the dataset of that name."""
    return new_dataset_id(name.encode().ljust(32, b"."))


async def add(repository: Repository, name: str, inputs: list[str]) -> None:
    """A dataset that is derived from ``inputs``, whether they are there or not; a root without any."""
    alias = DatasetAlias.from_text(name)
    transform = TransformSql("spark", queries=(SqlQueryStep(query="select 1"),))
    event = SetTransform(tuple(TransformInput(id_of(each), each) for each in inputs), transform)
    snapshot = DatasetSnapshot(
        alias, DatasetKind.DERIVATIVE if inputs else DatasetKind.ROOT, (event,) if inputs else ()
    )
    blocks = blocks_from_snapshot(
        snapshot,
        dataset_id=id_of(name),
        system_time=NOW,
        resolve_input=lambda ref: ref if isinstance(ref, DatasetId) else None,
    )
    await (await repository.create(alias, id_of(name))).dataset.append(blocks, expected_head=None)


async def order(repository: Repository, *names: str) -> list[str]:
    """In which order they are pulled."""
    wanted: list[DatasetEntry] = [await repository.find(id_of(name)) for name in names]
    return [str(entry.alias) for entry in await inputs_first(repository, wanted)]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository.init(tmp_path / "repository")


async def test_inputs_of_inputs_come_first_and_once(repository: Repository) -> None:
    for name, inputs in (("a", []), ("b", ["a"]), ("c", ["a"]), ("d", ["b", "c"])):
        await add(repository, name, list(inputs))
    assert await order(repository, "d", "a") == ["a", "b", "c", "d"]


async def test_an_input_that_is_elsewhere_is_left_out(repository: Repository) -> None:
    await add(repository, "b", ["elsewhere"])
    assert await order(repository, "b") == ["b"]


async def test_datasets_that_are_inputs_of_each_other_end(repository: Repository) -> None:
    for name, inputs in (("a", ["b"]), ("b", ["a"])):
        await add(repository, name, inputs)
    assert sorted(await order(repository, "a")) == ["a", "b"]


async def test_a_dataset_that_cannot_be_read_is_left_to_who_pulls_it(repository: Repository) -> None:
    await add(repository, "a", [])
    entry = await repository.find(id_of("a"))
    assert entry.path is not None
    for block in (entry.path / "blocks").iterdir():
        block.write_bytes(b"damaged")
    assert [each.id for each in await inputs_first(repository, [entry])] == [entry.id]


@settings(max_examples=6)
@given(shape=st.lists(st.sets(st.integers(0, 4), max_size=3), min_size=1, max_size=6))
async def test_no_dataset_comes_before_one_of_its_inputs(
    tmp_path_factory: pytest.TempPathFactory, shape: list[set[int]]
) -> None:
    repository = Repository.init(tmp_path_factory.mktemp("order") / "repository")
    inputs = {f"n{number}": [f"n{each}" for each in given if each < number] for number, given in enumerate(shape)}
    for name, given_inputs in inputs.items():
        await add(repository, name, given_inputs)
    names = await order(repository, *reversed(inputs))
    assert sorted(names) == sorted(inputs)
    assert all(names.index(each) < names.index(name) for name in names for each in inputs[name])
