"""Steps of derivatives by an engine at an address: the same as ours, and nothing is believed that does not hold."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from opendatafabric.data.event_schema import arrow_schema
from opendatafabric.errors import (
    EngineUnavailable,
    IncompatibleSchema,
    InvalidQuery,
    MalformedData,
    OdfError,
    ProtocolViolation,
)
from opendatafabric.layout import checkpoint_key
from opendatafabric.metadata.engine_messages import RawQueryRequest, TransformRequest, TransformResponseSuccess
from opendatafabric.metadata.events import SetDataSchema
from opendatafabric.metadata.slices import OffsetInterval
from pipeline.commit import Outcome, position_of
from pipeline.engine_contract.checkpoint import read_checkpoint
from pipeline.engine_contract.elsewhere import EngineAddress, EnginesElsewhere
from pipeline.engine_contract.served import ServedEngine
from pipeline.engine_contract.server import serving
from pipeline.transform.run import transform
from tests.pipeline.datasets import blocks_of, day
from tests.pipeline.engine_contract.coordinator import SCHEMA
from tests.pipeline.local_engine import LocalEngine
from tests.pipeline.transform.derived import LARGE, Workshop, id_of, query_over, shop_of_cities
from tests.pipeline.transform.recorded import derivatives, remade

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class OddEngine:
    """Leaves the given file and says the given things of it."""

    def __init__(self, said: TransformResponseSuccess, records: pa.Table | None = None) -> None:
        self.said, self.records = said, records
        self.asked: list[TransformRequest] = []

    async def transform(self, request: TransformRequest) -> TransformResponseSuccess:
        self.asked.append(request)
        if self.records is not None:
            pq.write_table(self.records, request.new_data_path)
        with open(request.new_checkpoint_path, "xb") as file:  # noqa: ASYNC230 - a few bytes
            file.write(b"remember me")
        return self.said

    async def raw_query(self, _: RawQueryRequest) -> Any:
        raise NotImplementedError


@asynccontextmanager
async def listening(engine: Any) -> AsyncIterator[EnginesElsewhere]:
    """An engine that calls itself ``elsewhere``, and stands for ours."""
    async with serving(engine, host="127.0.0.1", port=0) as port:
        yield EnginesElsewhere(dict.fromkeys(("elsewhere", "datafusion"), EngineAddress(f"127.0.0.1:{port}")))


@pytest.fixture
async def shop(tmp_path: Path) -> Workshop:
    """Cities, and the large ones among them."""
    shop = await shop_of_cities(tmp_path)
    await shop.add("odd", query_over(LARGE, "cities", engine="Elsewhere"))
    return shop


async def step(shop: Workshop, name: str, elsewhere: EnginesElsewhere, *, on: int) -> Outcome | None:
    dataset = shop.datasets[name]
    return await transform(dataset, shop.find, shop.engine, system_time=day(on), elsewhere=elsewhere)


def records(*populations: int, first: int = 0, **columns: pa.DataType) -> pa.Table:
    """A slice as an engine makes it."""
    fields = [field for field in SCHEMA if field.name != "city"] + [pa.field(*each) for each in columns.items()]
    moment = day(2).to_datetime()
    rows = [
        {"offset": first + index, "op": 0, "system_time": moment, "event_time": moment, "population": each}
        for index, each in enumerate(populations)
    ]
    return pa.Table.from_pylist(rows, schema=pa.schema(fields))


async def test_a_step_is_the_same_as_ours_and_has_a_checkpoint(shop: Workshop, tmp_path: Path) -> None:
    await shop.add("here", query_over(LARGE, "cities"))
    for number in (3, 5):
        async with listening(ServedEngine(shop.engine, tmp_path / "engine")) as elsewhere:
            await step(shop, "large", elsewhere, on=number)
        await shop.step("here", on=number)
        await shop.push("cities", on=number + 1, dnipro=15)
    ours, theirs = await shop.steps("here"), await shop.steps("large")
    assert [each.new_watermark for each in ours] == [each.new_watermark for each in theirs]
    assert [each.new_data for each in ours] == [each.new_data for each in theirs]
    schemas = [
        [block.event for block in await blocks_of(shop.datasets[name]) if isinstance(block.event, SetDataSchema)]
        for name in ("here", "large")
    ]
    assert schemas[0] == schemas[1]
    first, second = theirs
    assert first.new_checkpoint is not None
    assert second.new_checkpoint is not None
    assert second.prev_checkpoint == first.new_checkpoint.physical_hash
    key = checkpoint_key(second.new_checkpoint.physical_hash)
    kept = await shop.datasets["large"].objects.read(key, size_max=2**20)
    assert read_checkpoint(kept) == {id_of("cities"): day(4)}


@pytest.mark.parametrize("derivative", derivatives("datasets"), ids=lambda path: path.name)
async def test_recorded_steps_are_the_same_by_the_contract(derivative: Path, tmp_path: Path) -> None:
    engine = LocalEngine(tmp_path / "engine")
    async with listening(ServedEngine(engine, tmp_path / "engine")) as elsewhere:
        both = await remade(derivative, engine, elsewhere)
    assert both.ours == both.theirs


@pytest.mark.parametrize("name", ["spark.join", "spark.weather.monthly", "spark.airports.op"])
async def test_recorded_steps_of_spark_are_the_same_by_the_contract(
    name: str, tmp_path: Path, spark: SparkSession
) -> None:
    engine = LocalEngine(tmp_path / "engine", lambda: spark)
    (derivative,) = [path for path in derivatives("datasets-spark") if path.name == name]
    async with serving(ServedEngine(engine, tmp_path / "engine"), host="127.0.0.1", port=0) as port:
        both = await remade(derivative, engine, EnginesElsewhere({"spark": EngineAddress(f"127.0.0.1:{port}")}))
    assert both.ours == both.theirs


async def test_the_last_checkpoint_is_given_to_the_next_step(shop: Workshop) -> None:
    engine = OddEngine(TransformResponseSuccess(OffsetInterval(0, 1), day(2)), records(30, 20))
    async with listening(engine) as elsewhere:
        outcome = await step(shop, "odd", elsewhere, on=3)
        assert outcome is not None
        assert (outcome.answer.rows.read, outcome.answer.rows.appended) == (3, 2)
        engine.said, engine.records = TransformResponseSuccess(None, day(4)), None
        await shop.push("cities", on=4, dnipro=15)
        await step(shop, "odd", elsewhere, on=5)
    first, second = engine.asked
    assert (first.prev_checkpoint_path, first.next_offset, second.next_offset) == (None, 0, 2)
    assert second.prev_checkpoint_path is not None
    assert second.query_inputs[0].offset_interval == OffsetInterval(3, 3)
    assert [mark.event_time for mark in second.query_inputs[0].explicit_watermarks] == [day(4)]
    last = (await shop.steps("odd"))[-1]
    assert (last.new_data, last.new_watermark) == (None, day(4))
    assert last.new_checkpoint is not None
    assert last.new_checkpoint.physical_hash == last.prev_checkpoint


async def test_a_watermark_of_the_engine_that_goes_back_is_not_taken(shop: Workshop) -> None:
    engine = OddEngine(TransformResponseSuccess(OffsetInterval(0, 0), day(2)), records(30))
    async with listening(engine) as elsewhere:
        await step(shop, "odd", elsewhere, on=3)
        engine.said = TransformResponseSuccess(OffsetInterval(1, 1), day(1))
        engine.records = records(30, first=1)
        await shop.push("cities", on=4, dnipro=15)
        await step(shop, "odd", elsewhere, on=5)
    assert [each.new_watermark for each in await shop.steps("odd")] == [day(2), day(2)]


@pytest.mark.parametrize(
    ("said", "made", "family"),
    [
        (OffsetInterval(0, 0), None, ProtocolViolation),
        (OffsetInterval(0, 1), records(30), ProtocolViolation),
        (OffsetInterval(1, 1), records(30, first=1), ProtocolViolation),
        (OffsetInterval(0, 0), records(30, first=1), ProtocolViolation),
        (OffsetInterval(0, 0), records(30).drop_columns("op"), MalformedData),
    ],
    ids=["no file", "fewer records", "another start", "other offsets", "no operation"],
)
async def test_a_slice_that_is_not_what_the_engine_says_is_not_committed(
    shop: Workshop, said: OffsetInterval, made: pa.Table | None, family: type[OdfError]
) -> None:
    head = await shop.datasets["odd"].head()
    async with listening(OddEngine(TransformResponseSuccess(said), made)) as elsewhere:
        with pytest.raises(family):
            await step(shop, "odd", elsewhere, on=3)
    assert await shop.datasets["odd"].head() == head


async def test_other_columns_than_before_are_refused(shop: Workshop) -> None:
    text = records(30, first=1)
    of_text = text.set_column(4, "population", text.column("population").cast(pa.string()))
    required = records(30, first=1, more=pa.string())
    required = pa.table(
        [*required.columns[:-1], pa.array(["x"])],
        schema=required.schema.set(5, required.schema.field(5).with_nullable(False)),
    )
    engine = OddEngine(TransformResponseSuccess(OffsetInterval(0, 0)), records(30))
    async with listening(engine) as elsewhere:
        await step(shop, "odd", elsewhere, on=3)
        engine.said = TransformResponseSuccess(OffsetInterval(1, 1))
        await shop.push("cities", on=4, dnipro=15)
        for made in (records(30, first=1).drop_columns("population"), of_text, required):
            engine.records = made
            with pytest.raises(IncompatibleSchema, match="other columns than the dataset has"):
                await step(shop, "odd", elsewhere, on=5)


async def test_more_columns_behind_the_others_are_taken(shop: Workshop) -> None:
    engine = OddEngine(TransformResponseSuccess(OffsetInterval(0, 0)), records(30))
    async with listening(engine) as elsewhere:
        await step(shop, "odd", elsewhere, on=3)
        engine.said = TransformResponseSuccess(OffsetInterval(1, 1))
        engine.records = records(30, first=1, more=pa.string())
        await shop.push("cities", on=4, dnipro=15)
        await step(shop, "odd", elsewhere, on=5)
    schema = (await position_of(shop.datasets["odd"])).schema
    assert schema is not None
    assert arrow_schema(schema).names[-2:] == ["population", "more"]


async def test_a_query_that_does_not_hold_is_told_in_the_words_of_the_engine(shop: Workshop, tmp_path: Path) -> None:
    await shop.add("wrong", query_over("select nothing from cities", "cities"))
    async with listening(ServedEngine(shop.engine, tmp_path / "engine")) as elsewhere:
        with pytest.raises(InvalidQuery, match="nothing"):
            await step(shop, "wrong", elsewhere, on=3)


async def test_an_engine_that_is_down_is_told_by_its_address(shop: Workshop) -> None:
    async with listening(OddEngine(TransformResponseSuccess())) as elsewhere:
        pass
    with pytest.raises(EngineUnavailable, match=r"no engine answers at 127\.0\.0\.1"):
        await step(shop, "odd", elsewhere, on=3)
