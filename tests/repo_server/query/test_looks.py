"""``tail`` and ``metadata``, as the reference answers them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from catalog.visibility import Visibility
from opendatafabric.metadata.events import SetInfo, SetLicense, SetVocab
from repo_server.config import Tenancy
from tests.pipeline.reading.histories import source
from tests.repo_server.hosted import Hosted, hosted
from tests.repo_server.query.cities import add_cities, number_of, plain
from tests.storage.chains import dataset_id

TIME = "2024-01-05T00:00:00Z"
NEWEST = {
    "offset": 5,
    "op": 1,
    "system_time": TIME,
    "event_time": "2024-01-01T00:00:00Z",
    "city": "lviv",
    "population": 2,
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def asked(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Hosted]:
    folder = tmp_path_factory.mktemp("asked")
    async with hosted(folder, Tenancy.SINGLE) as server:
        described = (SetInfo("about cities", ("a", "b")), SetLicense("CC0", "Zero", "CC0-1.0", "https://x"))
        await add_cities(server, folder, source(), *described)
        await add_cities(server, folder, source(), SetVocab(None, None, None, "happened"), name="empty", past={})
        await add_cities(server, folder, name="secret", visibility=Visibility.PRIVATE)
        yield server


pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


async def test_the_newest_records_come_in_the_order_of_offsets_with_columns_as_in_the_schema(asked: Hosted) -> None:
    answer = await asked.ask("GET", asked.path("cities") + "/tail?limit=2")
    found = plain(answer)
    assert [row["offset"] for row in found["data"]] == [4, 5]
    assert list(found["data"][1].items()) == list(NEWEST.items())
    assert list(found) == ["data", "dataFormat"]
    assert found["dataFormat"] == "JsonAoS"
    assert answer.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    ("query", "offsets"),
    [
        ("", [0, 1, 2, 3, 4, 5]),
        ("?skip=1&limit=2", [3, 4]),
        ("?skip=4&limit=100", [0, 1]),
        ("?skip=6", []),
        ("?limit=0", []),
    ],
)
async def test_the_newest_may_be_skipped(asked: Hosted, query: str, offsets: list[int]) -> None:
    found = plain(await asked.ask("GET", asked.path("cities") + "/tail" + query))
    assert [row["offset"] for row in found["data"]] == offsets


async def test_a_dataset_without_records_has_an_empty_tail(asked: Hosted) -> None:
    assert plain(await asked.ask("GET", asked.path("empty") + "/tail")) == {"data": [], "dataFormat": "JsonAoS"}


@pytest.mark.parametrize(
    ("word", "data"),
    [
        ("JsonAoA", [list(NEWEST.values())]),
        ("json-aoa", [list(NEWEST.values())]),
        ("jsonsoa", {name: [value] for name, value in NEWEST.items()}),
        ("JsonAos", [NEWEST]),
    ],
)
async def test_records_come_in_the_shape_that_is_asked_for(asked: Hosted, word: str, data: object) -> None:
    assert plain(await asked.ask("GET", asked.path("cities") + f"/tail?limit=1&dataFormat={word}"))["data"] == data


async def test_the_schema_comes_with_them_where_a_format_is_named(asked: Hosted) -> None:
    found = plain(await asked.ask("GET", asked.path("cities") + "/tail?limit=1&schemaFormat=arrow-json"))
    assert found["schemaFormat"] == "ArrowJson"
    assert found["schema"]["fields"][4]["data_type"] == "Utf8"


@pytest.mark.parametrize(
    "query",
    [
        "tail?foo=1",
        "tail?limit=x",
        "tail?limit=-1",
        "tail?limit=10000001",
        "tail?dataFormat=Csv",
        "tail?skip=",
        "metadata?include=seeds",
        "metadata?skip=1",
        "metadata?include=",
        "metadata?include=schema&schemaFormat=x",
    ],
)
async def test_what_is_unknown_is_refused_in_words(asked: Hosted, query: str) -> None:
    answer = await asked.ask("GET", f"{asked.path('cities')}/{query}")
    assert answer.status == 400
    assert answer.headers["Content-Type"].startswith("text/plain")


async def test_private_datasets_have_no_tail_for_others(asked: Hosted) -> None:
    assert (await asked.ask("GET", asked.path("secret") + "/tail")).status == 404
    assert (await asked.ask("GET", asked.path("secret") + "/tail", who="alice")).status == 200
    assert (await asked.ask("GET", asked.path("secret") + "/metadata")).status == 404


async def test_the_seed_is_told_by_default(asked: Hosted) -> None:
    seed = {"datasetId": str(dataset_id(number_of("cities"))), "datasetKind": "Root"}
    assert plain(await asked.ask("GET", asked.path("cities") + "/metadata")) == {"output": {"seed": seed}}


async def test_what_the_chain_says_last_is_told_and_what_it_does_not_say_is_left_out(asked: Hosted) -> None:
    include = "/metadata?include=Attachments,info,LICENSE,refs,vocab,schema"
    cities = plain(await asked.ask("GET", asked.path("cities") + include))["output"]
    head = (await asked.ask("GET", asked.path("cities") + "/refs/head")).text
    assert cities["info"] == {"description": "about cities", "keywords": ["a", "b"]}
    assert cities["license"] == {"shortName": "CC0", "name": "Zero", "spdxId": "CC0-1.0", "websiteUrl": "https://x"}
    assert cities["refs"] == [{"name": "head", "blockHash": head}]
    assert cities["vocab"]["operationTypeColumn"] == "op"
    assert cities["schemaFormat"] == "ArrowJson"
    assert "attachments" not in cities
    empty = plain(await asked.ask("GET", asked.path("empty") + include))["output"]
    assert list(empty) == ["refs", "vocab"]
    assert empty["vocab"]["eventTimeColumn"] == "happened"


async def test_slices_that_cannot_be_read_are_no_crash(asked: Hosted, tmp_path: Path) -> None:
    dataset = await add_cities(asked, tmp_path, name="torn")
    for file in asked.settings.repo.glob("**/data/*"):
        path = dataset.objects.local_path(f"data/{file.name}")
        if path is not None and path.exists():
            path.chmod(0o600)
            path.write_bytes(b"no parquet at all")
    answer = await asked.ask("GET", asked.path("torn") + "/tail")
    assert answer.status == 400
    assert b"malformed-data" in answer.body
