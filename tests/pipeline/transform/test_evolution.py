"""Queries and inputs change in mid-life: what is allowed goes on, what is not says what to do instead."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from opendatafabric.data.arrow_schema import arrow_schema_to_odf
from opendatafabric.data.event_schema import arrow_schema
from opendatafabric.errors import ChainError, IncompatibleSchema, MalformedData
from opendatafabric.layout import data_key
from opendatafabric.metadata.events import AddPushSource, SetDataSchema, SetTransform
from opendatafabric.metadata.sources import ReadStepCsv
from opendatafabric.metadata.transform import TransformInput
from pipeline.commit import position_of
from tests.opendatafabric.chain.test_schema_rules import bare_schema
from tests.pipeline.datasets import CITIES, blocks_of, csv_source, push
from tests.pipeline.local_engine import LocalEngine
from tests.pipeline.transform.derived import Workshop, id_of, query_over
from tests.verify.replaying import verified
from verify.report import Verdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = "select event_time, city, population"
LARGE = f"{COLUMNS} from cities where population > 10"


@pytest.fixture
async def large(workshop: Workshop) -> Workshop:
    """Cities of the second of January, and the large ones among them, computed on the third."""
    await workshop.add_cities()
    await workshop.push("cities", on=2, lviv=5, kyiv=30, odesa=20)
    await workshop.add("large", query_over(LARGE, "cities"))
    await workshop.step("large", on=3)
    return workshop


async def column_names(workshop: Workshop, name: str = "large") -> list[str]:
    """Of the schema in force, but for those of the system."""
    schema = (await position_of(workshop.datasets[name])).schema
    assert schema is not None
    return [each for each in arrow_schema(schema).names if each not in {"offset", "op", "system_time"}]


async def grow(workshop: Workshop, *, on: int, name: str = "cities") -> None:
    """Give the root a column ``mayor``, optional as new columns are."""
    schema = (await position_of(workshop.datasets[name])).schema
    assert schema is not None
    assert schema.schema is not None
    added = arrow_schema_to_odf(pa.schema([pa.field("mayor", pa.string())])).fields
    await workshop.set(name, SetDataSchema(schema=replace(schema.schema, fields=schema.schema.fields + added)), on=on)
    source = replace(csv_source(), read=ReadStepCsv(schema=(*CITIES, "mayor STRING"), header=True))
    assert isinstance(source, AddPushSource)
    await workshop.set(name, source, on=on)


async def push_with_mayor(workshop: Workshop, *, on: int, city: str, population: int, mayor: str) -> None:
    file = workshop.folder / f"{city}.csv"
    file.write_text(f"city,population,mayor\n{city},{population},{mayor}\n")
    await push(workshop.datasets["cities"], workshop.engine, file, on=on)


async def test_a_changed_query_may_give_more_columns_which_are_null_before(large: Workshop) -> None:
    more = query_over("select event_time, city, population, upper(city) as label from cities", "cities")
    await large.set("large", more, on=4)
    await large.push("cities", on=5, poltava=1)
    await large.step("large", on=6)
    assert await column_names(large) == ["event_time", "city", "population", "label"]
    kinds = [type(block.event).__name__ for block in await blocks_of(large.datasets["large"])]
    assert kinds[-3:] == ["SetTransform", "SetDataSchema", "ExecuteTransform"]
    await large.push("cities", on=7, kharkiv=40)
    await large.step("large", on=8)
    assert [row["city"] for row in await large.rows("large", "city")] == ["kyiv", "odesa", "poltava", "kharkiv"]
    report = await verified(large)
    assert report.verdict is Verdict.VALID, list(report.findings)


async def test_more_columns_are_declared_when_there_is_a_record_that_has_them(large: Workshop) -> None:
    await large.set("large", query_over(f"{COLUMNS}, 1 as one from cities where population > 10", "cities"), on=4)
    await large.push("cities", on=5, poltava=1)
    assert await large.step("large", on=6) is not None
    assert await column_names(large) == ["event_time", "city", "population"]
    await large.push("cities", on=7, kharkiv=40)
    await large.step("large", on=8)
    assert await column_names(large) == ["event_time", "city", "population", "one"]


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("select event_time, city from cities", "no longer gives population, which the dataset has"),
        (f"{COLUMNS} as people from cities", "no longer gives population"),
        (f"{COLUMNS[:-10]} cast(population as varchar) as population from cities", "'population' in another type"),
        (f"{COLUMNS[:-10]} population / 2.0 as population from cities", "'population' in another type"),
    ],
)
async def test_a_changed_query_keeps_names_and_types(large: Workshop, query: str, told: str) -> None:
    await large.set("large", query_over(query, "cities"), on=4)
    await large.push("cities", on=5, poltava=30)
    head = await large.datasets["large"].head()
    with pytest.raises(IncompatibleSchema, match=told) as refused:
        await large.step("large", on=6)
    assert "derive a new dataset" in str(refused.value.hint)
    assert await large.datasets["large"].head() == head


async def test_the_order_of_columns_may_change(large: Workshop) -> None:
    await large.set("large", query_over("select population, city, event_time from cities", "cities"), on=4)
    await large.push("cities", on=5, poltava=30)
    await large.step("large", on=6)
    assert (await large.rows("large", "city", "population"))[-1] == {"city": "poltava", "population": 30}


async def test_an_input_that_got_a_column_changes_nothing_for_queries_that_name_theirs(large: Workshop) -> None:
    await grow(large, on=4)
    await push_with_mayor(large, on=5, city="poltava", population=30, mayor="kateryna")
    await large.step("large", on=6)
    assert await column_names(large) == ["event_time", "city", "population"]
    assert (await verified(large)).verdict is Verdict.VALID


async def test_a_column_that_an_input_got_is_there_for_a_changed_query_and_null_in_older_records(
    large: Workshop,
) -> None:
    await large.push("cities", on=4, rivne=11)
    await grow(large, on=4)
    await push_with_mayor(large, on=5, city="poltava", population=30, mayor="kateryna")
    await large.set("large", query_over(f"{COLUMNS}, mayor from cities", "cities"), on=5)
    await large.step("large", on=6)
    assert await last_rows(large) == [("rivne", None), ("poltava", "kateryna")]
    assert (await verified(large)).verdict is Verdict.VALID


async def last_rows(workshop: Workshop) -> list[tuple[object, ...]]:
    """City and mayor of the records of the last step."""
    data = (await workshop.steps("large"))[-1].new_data
    assert data is not None
    raw = await workshop.datasets["large"].objects.read(data_key(data.physical_hash), size_max=2**20)
    return [(row["city"], row["mayor"]) for row in pq.read_table(pa.BufferReader(raw)).to_pylist()]


async def test_a_query_of_all_columns_takes_those_that_an_input_gets(workshop: Workshop) -> None:
    await workshop.add_cities()
    await workshop.push("cities", on=2, lviv=5)
    every = 'select * exclude ("offset", system_time) from cities'
    await workshop.add("large", query_over(every, "cities"))
    await workshop.step("large", on=3)
    await grow(workshop, on=4)
    await push_with_mayor(workshop, on=5, city="poltava", population=30, mayor="kateryna")
    await workshop.step("large", on=6)
    assert await column_names(workshop) == ["event_time", "city", "population", "mayor"]
    assert await last_rows(workshop) == [("poltava", "kateryna")]


async def test_an_input_cannot_change_the_type_of_a_column(large: Workshop) -> None:
    schema = (await position_of(large.datasets["cities"])).schema
    assert schema is not None
    text = pa.schema(
        [field.with_type(pa.string()) if field.name == "population" else field for field in arrow_schema(schema)]
    )
    with pytest.raises(ChainError, match="population"):
        await large.set("cities", SetDataSchema(schema=arrow_schema_to_odf(text)), on=4)


async def test_an_input_that_says_another_type_in_the_old_form_of_schemas_is_told(large: Workshop) -> None:
    schema = (await position_of(large.datasets["cities"])).schema
    assert schema is not None
    text = pa.schema(
        [field.with_type(pa.string()) if field.name == "population" else field for field in arrow_schema(schema)]
    )
    await large.push("cities", on=4, poltava=30)
    await large.set("cities", SetDataSchema(raw_arrow_schema=bare_schema(text)), on=4)
    with pytest.raises(MalformedData, match="column 'population' has another type"):
        await large.step("large", on=6)


async def test_inputs_are_added_at_the_end_and_go_from_there(large: Workshop) -> None:
    await large.add_cities("towns")
    await large.push("towns", on=4, bucha=50)
    union = f"{LARGE} union all {COLUMNS} from towns"
    await large.set("large", query_over(union, "cities", "towns"), on=4)
    await large.step("large", on=5)
    await large.set("large", query_over(LARGE, "cities"), on=6)
    await large.push("cities", on=7, poltava=30)
    await large.step("large", on=8)
    assert [len(each.query_inputs) for each in await large.steps("large")] == [1, 2, 1]
    assert [row["city"] for row in await large.rows("large", "city")] == ["kyiv", "odesa", "bucha", "poltava"]
    assert (await verified(large)).verdict is Verdict.VALID


async def test_an_input_may_get_another_alias(large: Workshop) -> None:
    changed = query_over(LARGE.replace("from cities", "from places"), "cities")
    renamed = SetTransform((TransformInput(id_of("cities"), "places"),), changed.transform)
    await large.set("large", renamed, on=4)
    await large.push("cities", on=5, poltava=30)
    await large.step("large", on=6)
    assert [row["city"] for row in await large.rows("large", "city")] == ["kyiv", "odesa", "poltava"]


async def test_the_engine_may_change(large: Workshop) -> None:
    await large.set("large", query_over(LARGE, "cities", engine="DataFusion"), on=4)
    await large.push("cities", on=5, poltava=30)
    await large.step("large", on=6)
    assert len(await large.rows("large", "city")) == 3


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
async def test_more_columns_are_taken_in_spark_too(workshop: Workshop, spark: SparkSession) -> None:
    workshop.engine = LocalEngine(workshop.folder.parent / "spark", lambda: spark)
    await workshop.add_cities()
    await workshop.push("cities", on=2, lviv=5)
    await workshop.add("large", query_over(f"{COLUMNS} from cities", "cities", engine="spark"))
    await workshop.step("large", on=3)
    await workshop.set("large", query_over(f"{COLUMNS}, 1 as one from cities", "cities", engine="spark"), on=4)
    await workshop.push("cities", on=5, kharkiv=40)
    await workshop.step("large", on=6)
    assert await column_names(workshop) == ["event_time", "city", "population", "one"]
    assert (await verified(workshop)).verdict is Verdict.VALID
