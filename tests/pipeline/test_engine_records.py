"""Which engine made a step is noted beside the chain, and told as long as that step is on it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.codec.block_codec import encode_block
from opendatafabric.engine_limits import ENGINE_RUNS_MAX
from opendatafabric.errors import MalformedData, OdfError, StorageError
from opendatafabric.layout import INFO_ENGINES
from opendatafabric.metadata.block import HashedBlock, MetadataBlock
from opendatafabric.metadata.events import ExecuteTransform
from opendatafabric.multihash import Multihash, physical_hash
from pipeline.engine_contract.elsewhere import EngineAddress, EnginesElsewhere
from pipeline.engine_contract.served import ServedEngine
from pipeline.engine_contract.server import serving
from pipeline.engine_records import (
    MadeBy,
    MadeRun,
    extended,
    maker_of,
    own_version,
    read_runs,
    write_runs,
)
from pipeline.transform.run import transform
from storage.memory import MemoryObjectStore, MemoryRefStore
from tests.pipeline.datasets import blocks_of, day
from tests.pipeline.transform.conftest import workshop
from tests.pipeline.transform.derived import Workshop, query_over
from tests.strategies import edited, multihashes

__all__ = ["workshop"]
LARGE = "select event_time, city, population from cities where population > 10"
SPARK = MadeBy("spark", {"pyspark": "4.3.0", "java": "17.0.15", "odf": "1"})
FLINK = MadeBy("flink", {"odf": "1"}, image="engine@sha256:11")
SEED = physical_hash(b"seed")

texts = st.text(max_size=8)
makers = st.builds(MadeBy, texts, st.dictionaries(texts, texts, max_size=3), st.none() | texts, st.none() | texts)
runs = st.lists(st.builds(MadeRun, st.integers(0, 2**40), st.integers(0, 2**40), multihashes, makers), max_size=3)


def step(number: int, before: Multihash) -> HashedBlock:
    return encode_block(MetadataBlock(day(1), before, number, ExecuteTransform((), new_watermark=day(1))))


@given(runs)
def test_what_was_noted_comes_back(noted: list[MadeRun]) -> None:
    assert read_runs(write_runs(noted)) == tuple(noted)


@given(st.data())
def test_no_bytes_do_harm(data: st.DataObject) -> None:
    damaged = data.draw(edited(write_runs([MadeRun(1, 2, SEED, SPARK)])))
    try:
        read_runs(damaged)
    except OdfError as error:
        assert isinstance(error, MalformedData)  # noqa: PT017 - any other way out is fine


@pytest.mark.parametrize(
    "data", [b"", b"[]", b'{"version": 2, "runs": []}', b'{"version": 1, "runs": [1]}', b"[" * 9_999]
)
def test_another_file_is_told(data: bytes) -> None:
    with pytest.raises(MalformedData, match=INFO_ENGINES):
        read_runs(data)


def test_steps_by_one_engine_without_a_gap_are_one_run() -> None:
    first = step(1, SEED)
    second = step(2, first.hash)
    noted = extended(
        extended([], before=SEED, step=first, made_by=SPARK), before=first.hash, step=second, made_by=SPARK
    )
    assert noted == (MadeRun(1, 2, second.hash, SPARK),)


def test_another_engine_or_a_gap_begins_a_run() -> None:
    first = step(1, SEED)
    noted = extended([], before=SEED, step=first, made_by=SPARK)
    assert len(extended(noted, before=first.hash, step=step(2, first.hash), made_by=FLINK)) == 2
    assert len(extended(noted, before=SEED, step=step(5, SEED), made_by=SPARK)) == 2


def test_what_is_remembered_is_bounded() -> None:
    noted = [MadeRun(number, number, SEED, SPARK) for number in range(ENGINE_RUNS_MAX)]
    after = extended(noted, before=physical_hash(b""), step=step(ENGINE_RUNS_MAX, SEED), made_by=FLINK)
    assert (len(after), after[0].first, after[-1].made_by) == (ENGINE_RUNS_MAX, 1, FLINK)


@pytest.fixture
async def large(workshop: Workshop) -> Workshop:
    """Large cities in two steps of the engine ``datafusion``."""
    await workshop.add_cities()
    await workshop.add("large", query_over(LARGE, "cities"))
    await workshop.push("cities", on=2, lviv=5, kyiv=30)
    await workshop.step("large", on=3)
    await workshop.push("cities", on=4, dnipro=15)
    await workshop.step("large", on=5)
    return workshop


async def steps_of(workshop: Workshop, name: str = "large") -> list[HashedBlock]:
    return [each for each in await blocks_of(workshop.datasets[name]) if isinstance(each.event, ExecuteTransform)]


async def makers_of(workshop: Workshop, name: str = "large") -> list[MadeBy | None]:
    """Of each step."""
    return [await maker_of(workshop.datasets[name], each) for each in await steps_of(workshop, name)]


async def test_a_step_is_noted_with_the_versions_of_what_made_it(large: Workshop) -> None:
    first, second = await makers_of(large)
    assert first == second
    assert first is not None
    assert (first.engine, first.versions["odf"]) == ("datafusion", own_version())
    assert set(first.versions) == {"datafusion", "pyarrow", "odf"}


async def test_an_engine_elsewhere_is_noted_by_its_address(large: Workshop, tmp_path: Path) -> None:
    await large.push("cities", on=6, rivne=50)
    async with serving(ServedEngine(large.engine, tmp_path), host="127.0.0.1", port=0) as port:
        elsewhere = EnginesElsewhere({"datafusion": EngineAddress(f"127.0.0.1:{port}")})
        await transform(large.datasets["large"], large.find, large.engine, system_time=day(7), elsewhere=elsewhere)
    ours, _, theirs = await makers_of(large)
    assert ours is not None
    assert ours.address is None
    assert theirs == MadeBy("datafusion", {"odf": own_version()}, address=f"127.0.0.1:{port}")


async def test_of_steps_that_others_made_nothing_is_known(large: Workshop) -> None:
    dataset = large.datasets["large"]
    assert isinstance(dataset.objects, MemoryObjectStore)
    del dataset.objects.objects[INFO_ENGINES]
    assert await makers_of(large) == [None, None]
    await large.push("cities", on=6, rivne=50)
    await large.step("large", on=7)
    assert [maker is not None for maker in await makers_of(large)] == [False, False, True]


async def test_steps_that_were_replaced_are_not_told_of(large: Workshop) -> None:
    dataset = large.datasets["large"]
    steps = await steps_of(large)
    assert isinstance(dataset.refs, MemoryRefStore)
    await dataset.refs.compare_and_swap("head", expected=await dataset.head(), new=steps[0].hash)
    assert await maker_of(dataset, steps[0]) is None


async def test_a_note_that_cannot_be_read_is_told_and_begun_anew(large: Workshop) -> None:
    dataset = large.datasets["large"]
    assert isinstance(dataset.objects, MemoryObjectStore)
    dataset.objects.objects[INFO_ENGINES] = b"damaged"
    with pytest.raises(MalformedData):
        await makers_of(large)
    await large.push("cities", on=6, rivne=50)
    await large.step("large", on=7)
    assert [maker is not None for maker in await makers_of(large)] == [False, False, True]


async def test_a_step_counts_where_it_cannot_be_noted(large: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    put = MemoryObjectStore.put

    async def full(self: MemoryObjectStore, key: str, *rest: object) -> None:
        if key == INFO_ENGINES:
            raise StorageError("no space")
        await put(self, key, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(MemoryObjectStore, "put", full)
    await large.push("cities", on=6, rivne=50)
    outcome = await large.step("large", on=7)
    assert outcome is not None
    assert outcome.changed
    assert [maker is not None for maker in await makers_of(large)] == [True, True, False]


def test_a_maker_is_told_in_one_line() -> None:
    assert str(SPARK) == "spark (pyspark 4.3.0, java 17.0.15, odf 1)"
    assert str(FLINK) == "flink (odf 1, engine@sha256:11)"
    assert str(MadeBy("mine", {"odf": "1"}, address="127.0.0.1:1")) == "mine (odf 1, at 127.0.0.1:1)"
