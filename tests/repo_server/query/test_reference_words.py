"""The words and fields of the reference's API for questions and looks, one by one, over datasets that it made."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final

import orjson
import pytest
import pytest_asyncio

from repo_server.config import Tenancy
from tests.repo_server.hosted import Answer, Hosted, hosted
from tests.repo_server.query.cities import plain
from tests.repo_server.recorded import FAHRENHEIT, WEATHER, add_recorded

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

DATA_FORMATS: Final = {
    "JsonAoS": ("JsonAoS", "JsonAos", "json-aos", "jsonaos"),
    "JsonSoA": ("JsonSoA", "JsonSoa", "json-soa", "jsonsoa"),
    "JsonAoA": ("JsonAoA", "JsonAoa", "json-aoa", "jsonaoa"),
}
SCHEMA_FORMATS: Final = {
    "ArrowJson": ("ArrowJson", "arrow-json", "arrowjson"),
    "OdfJson": ("OdfJson", "odf-json", "odfjson"),
    "OdfYaml": ("OdfYaml", "odf-yaml", "odfyaml"),
    "Parquet": ("Parquet", "parquet"),
    "ParquetJson": ("ParquetJson", "parquet-json", "parquetjson"),
}
SQL: Final = f'select date, temp_max_f from "alice/{FAHRENHEIT}" order by date limit 2'


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def asked(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Hosted]:
    async with hosted(tmp_path_factory.mktemp("words"), Tenancy.MULTI, run_worker=False) as server:
        for name in (WEATHER, FAHRENHEIT):
            await add_recorded(server, name)
        yield server


async def question(server: Hosted, **told: Any) -> Answer:
    body = orjson.dumps({"query": SQL, **told})
    return await server.ask("POST", "/query", data=body, headers={"Content-Type": "application/json"})


@pytest.mark.parametrize(("told", "words"), DATA_FORMATS.items())
async def test_every_spelling_of_a_data_format_means_it(asked: Hosted, told: str, words: tuple[str, ...]) -> None:
    for word in words:
        looked = await asked.ask("GET", f"/alice/{WEATHER}/tail?limit=1&dataFormat={word}")
        assert plain(looked)["dataFormat"] == told
        assert plain(await question(asked, dataFormat=word))["output"]["dataFormat"] == told


@pytest.mark.parametrize(("told", "words"), SCHEMA_FORMATS.items())
async def test_every_spelling_of_a_schema_format_means_it(asked: Hosted, told: str, words: tuple[str, ...]) -> None:
    for word in words:
        looked = plain(await asked.ask("GET", f"/alice/{WEATHER}/tail?limit=1&schemaFormat={word}"))
        assert (list(looked), looked["schemaFormat"]) == (["data", "dataFormat", "schema", "schemaFormat"], told)
        output = plain(await question(asked, schemaFormat=word))["output"]
        assert (list(output), output["schemaFormat"]) == (["data", "dataFormat", "schema", "schemaFormat"], told)
        metadata = plain(await asked.ask("GET", f"/alice/{WEATHER}/metadata?include=schema&schemaFormat={word}"))
        assert metadata["output"]["schemaFormat"] == told


async def test_the_input_is_echoed_with_every_field_in_its_place(asked: Hosted) -> None:
    told = plain(await question(asked, include=["input"]))
    head = (await asked.ask("GET", f"/alice/{FAHRENHEIT}/refs/head")).text
    identity = plain(await asked.ask("GET", f"/alice/{FAHRENHEIT}"))["id"]
    assert told["input"] == {
        "query": SQL,
        "queryDialect": "SqlDataFusion",
        "dataFormat": "JsonAoS",
        "include": ["Input"],
        "datasets": [{"id": identity, "alias": f"alice/{FAHRENHEIT}", "blockHash": head}],
        "skip": 0,
        "limit": 100,
    }
    assert set(told) == {"input", "output"}


async def test_every_part_of_the_metadata_is_told_as_the_reference_has_it(asked: Hosted) -> None:
    include = "attachments,info,license,refs,schema,seed,vocab"
    told = plain(await asked.ask("GET", f"/alice/{WEATHER}/metadata?include={include}"))["output"]
    assert set(told) == {*include.split(","), "schemaFormat"}
    assert set(told["seed"]) == {"datasetId", "datasetKind"}
    assert [set(each) for each in told["refs"]] == [{"name", "blockHash"}]
    assert told["info"]["keywords"] == ["weather", "seattle", "noaa"]
    assert told["vocab"]["eventTimeColumn"] == "date"


@pytest.mark.parametrize(
    ("told", "status"),
    [
        ({"query": "selec"}, 400),
        ({"query": "select * from nothing"}, 400),
        ({"query": "select 1", "queryDialect": "SqlFlink"}, 400),
        ({"query": "select 1", "datasets": [{"id": f"did:odf:fed01{'7' * 64}", "alias": "x"}]}, 404),
        ({"query": "select 1", "more": 1}, 422),
    ],
)
async def test_a_refusal_has_the_status_of_the_reference_and_a_message(
    asked: Hosted, told: dict[str, Any], status: int
) -> None:
    answer = await question(asked, **told)
    assert answer.status == status, answer.text
    if status != 422:
        assert orjson.loads(answer.body)["message"]
