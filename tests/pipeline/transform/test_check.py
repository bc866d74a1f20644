"""A transform is looked at when it is set: with the columns of its inputs where they are known, else by its words."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from opendatafabric.errors import (
    DatasetNotFound,
    IncompatibleSchema,
    InvalidQuery,
    LimitExceeded,
    OdfError,
    UnsupportedOperation,
    UnsupportedVersion,
)
from opendatafabric.metadata.events import SetTransform
from opendatafabric.metadata.transform import SqlQueryStep, TransformInput
from pipeline.commit import position_of
from pipeline.engine_contract.elsewhere import EngineAddress, EnginesElsewhere
from pipeline.epochs.version import VERSION
from pipeline.in_process import InProcess
from pipeline.transform.check import check_transform
from tests.pipeline.local_engine import LocalEngine
from tests.pipeline.transform.derived import Workshop, id_of, query_over

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LARGE = "select event_time, city, population from cities where population > 10"


@pytest.fixture
async def large(workshop: Workshop) -> Workshop:
    """Cities, the large ones among them, and a root that nothing was put in."""
    await workshop.add_cities()
    await workshop.push("cities", on=2, lviv=5, kyiv=30)
    await workshop.add_cities("empty")
    await workshop.add("large", query_over(LARGE, "cities"))
    await workshop.step("large", on=3)
    await workshop.add("new", query_over(LARGE, "cities"))
    return workshop


async def check(workshop: Workshop, transform: SetTransform, *, name: str = "new", **options: Any) -> None:
    position = await position_of(workshop.datasets[name])
    await check_transform(position, transform, workshop.find, workshop.engine, **options)


def in_epochs(transform: SetTransform) -> SetTransform:
    return replace(transform, transform=replace(transform.transform, version=VERSION))


async def test_a_query_that_holds_is_let_through_and_leaves_nothing(large: Workshop) -> None:
    head = await large.datasets["new"].head()
    for name in ("new", "large"):
        await check(large, query_over(LARGE, "cities"), name=name)
    assert await large.datasets["new"].head() == head


WRONG: list[tuple[str, type[OdfError], str]] = [
    ("select event_time, town from cities", InvalidQuery, "town"),
    ("select event_time, city from towns", InvalidQuery, "towns"),
    ("select city from cities", IncompatibleSchema, "gives no event time"),
    ("selec event_time from cities", InvalidQuery, "the query failed"),
    ("select now() as event_time from cities", InvalidQuery, r"'now'.*line 1, column 8"),
    (
        "select event_time, row_number() over () as n from (select * from cities union all select * from cities)",
        InvalidQuery,
        "'row_number' over a UNION",
    ),
]


@pytest.mark.parametrize(("query", "error", "told"), WRONG)
async def test_what_does_not_hold_is_told_before_it_is_set(
    large: Workshop, query: str, error: type[OdfError], told: str
) -> None:
    with pytest.raises(error, match=told):
        await check(large, query_over(query, "cities"))


async def test_a_changed_query_keeps_the_columns_of_the_dataset(large: Workshop) -> None:
    await check(
        large, query_over(LARGE.replace("population from", "population, 1 as one from"), "cities"), name="large"
    )
    with pytest.raises(IncompatibleSchema, match="no longer gives population"):
        await check(large, query_over("select event_time, city from cities", "cities"), name="large")


async def test_inputs_of_a_changed_query_stay_where_they_are(large: Workshop) -> None:
    await check(large, query_over(f"{LARGE} union all {LARGE}", "cities", "empty"), name="large")
    with pytest.raises(UnsupportedOperation, match="was another dataset in the step before"):
        await check(large, query_over(LARGE, "empty"), name="large")


async def test_where_an_input_has_no_schema_yet_the_words_alone_are_looked_at(large: Workshop) -> None:
    await check(large, query_over("select event_time, anything from empty", "empty"))
    with pytest.raises(InvalidQuery, match="uses 'random'"):
        await check(large, query_over("select event_time, random() as r from empty", "empty"))


async def test_names_that_repeat_are_named(large: Workshop) -> None:
    given = query_over(LARGE, "cities", "empty")
    twice = replace(
        given,
        inputs=tuple(TransformInput(each.dataset_ref, name) for each, name in zip(given.inputs, "aA", strict=True)),
    )
    with pytest.raises(InvalidQuery, match="inputs of the transform have the same name: A, a"):
        await check(large, twice)
    steps = (SqlQueryStep("cities", LARGE), SqlQueryStep(None, LARGE))
    shadowing = query_over(LARGE, "cities")
    with pytest.raises(InvalidQuery, match="inputs and steps of the transform have the same name: cities"):
        await check(large, replace(shadowing, transform=replace(shadowing.transform, queries=steps)))


async def test_an_input_that_is_not_here_is_named(large: Workshop) -> None:
    with pytest.raises(DatasetNotFound, match=str(id_of("nowhere"))):
        await check(large, query_over(LARGE, "nowhere"))


async def test_queries_for_other_engines_are_not_looked_at(large: Workshop) -> None:
    await check(large, query_over("SELECT STREAM", "cities", engine="flink"))
    elsewhere = EnginesElsewhere({"datafusion": EngineAddress("127.0.0.1:1")})
    await check(large, query_over("SELECT STREAM", "cities"), elsewhere=elsewhere)


async def test_a_query_that_takes_too_long_is_given_up(large: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.transform.check.QUERY_CHECK_S_MAX", 0.01)

    class Slow(LocalEngine):
        async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
            await asyncio.Event().wait()
            return {}

    large.engine = Slow(large.folder.parent / "slow")
    with pytest.raises(LimitExceeded, match="too long even without records"):
        await check(large, query_over(LARGE, "cities"))


async def test_in_this_process_it_is_looked_at_as_in_a_worker(large: Workshop) -> None:
    large.engine = InProcess()
    await check(large, query_over(LARGE, "cities"))
    with pytest.raises(InvalidQuery, match="town"):
        await check(large, query_over("select event_time, town from cities", "cities"))


IN_SPARK: list[tuple[Callable[[SetTransform], SetTransform], str, str, str]] = [
    (
        replace,
        "cities",
        "select event_time, java_method('a', 'b') as x from cities",
        r"'java_method'.*line 1, column 20",
    ),
    (replace, "empty", "select event_time, java_method('a', 'b') as x from empty", r"'java_method'.*line 1, column 20"),
    (replace, "empty", "select * from other", r"reads 'other', which is none of its inputs \(line 1, column 15\)"),
    (replace, "cities", "select event_time, town from cities", "town"),
    (in_epochs, "cities", "select event_time, city from cities limit 1", r"GlobalLimit \(line 1, column 37\)"),
    (in_epochs, "empty", "select event_time, rand() as r from empty", "'rand'.*line 1, column 20"),
]


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize(("dialect", "name", "query", "told"), IN_SPARK)
async def test_in_spark_what_is_not_allowed_is_told_with_its_place(
    large: Workshop, spark: SparkSession, dialect: Any, name: str, query: str, told: str
) -> None:
    large.engine = LocalEngine(large.folder.parent / "spark", lambda: spark)
    await check(large, dialect(query_over(f"select event_time, city from {name}", name, engine="spark")))
    with pytest.raises(InvalidQuery, match=told):
        await check(large, dialect(query_over(query, name, engine="spark")))


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
async def test_a_dialect_that_is_not_known_is_told(large: Workshop, spark: SparkSession) -> None:
    large.engine = LocalEngine(large.folder.parent / "spark", lambda: spark)
    given = query_over(LARGE, "cities", engine="spark")
    newer = replace(given, transform=replace(given.transform, version="odf-epoch/99"))
    with pytest.raises(UnsupportedVersion, match="odf-epoch/99"):
        await check(large, newer)
