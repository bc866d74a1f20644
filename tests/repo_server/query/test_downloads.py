"""Records as files, whole, in part, and going on where a download broke off."""

from __future__ import annotations

import io
import shutil
from collections.abc import AsyncIterator

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import pytest_asyncio

from catalog.visibility import Visibility
from repo_server.config import Tenancy
from tests.pipeline.datasets import blocks_of
from tests.pipeline.reading.histories import A
from tests.repo_server.hosted import Answer, Hosted, hosted
from tests.repo_server.query.cities import add_cities

ABSENT = "f1620" + "0" * 64
pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def asked(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Hosted]:
    folder = tmp_path_factory.mktemp("asked")
    async with hosted(folder, Tenancy.MULTI) as server:
        await add_cities(server, folder)
        await add_cities(server, folder, name="secret", visibility=Visibility.PRIVATE)
        await add_cities(server, folder, name="small", past={2: [(A, 1, "kyiv", 3)]})
        yield server


async def get(server: Hosted, path: str, name: str = "cities", **headers: str) -> Answer:
    sent = {each.replace("_", "-"): value for each, value in headers.items()}
    return await server.ask("GET", f"{server.path(name)}/{path}", headers=sent)


async def offsets(server: Hosted, parameters: str) -> list[int]:
    answer = await get(server, f"data.ndjson?{parameters}")
    assert answer.status == 200, answer.text
    return [orjson.loads(line)["offset"] for line in answer.body.splitlines()]


async def test_all_records_come_in_each_format(asked: Hosted) -> None:
    csv = await get(asked, "data.csv")
    assert len(csv.text.splitlines()) == 7
    assert csv.text.splitlines()[1] == "0,0,2024-01-02T00:00:00Z,2024-01-01T00:00:00Z,kyiv,3"
    assert csv.headers["Content-Disposition"] == 'attachment; filename="cities.csv"'
    parquet = pq.read_table(io.BytesIO((await get(asked, "data.parquet")).body))
    arrow = pa.ipc.open_stream((await get(asked, "data.arrow")).body).read_all()
    assert parquet.equals(arrow)
    assert arrow.column("offset").to_pylist() == [0, 1, 2, 3, 4, 5]
    assert await offsets(asked, "") == [0, 1, 2, 3, 4, 5]


async def test_some_records_may_be_asked_for(asked: Hosted) -> None:
    blocks = await blocks_of((await asked.repository.find(asked.alias("cities"))).dataset)
    assert await offsets(asked, "from=1&to=3") == [1, 2, 3]
    assert await offsets(asked, f"since={blocks[3].hash}") == [2, 3, 4, 5]
    assert await offsets(asked, f"since={blocks[0].hash}&block={blocks[4].hash}") == [0, 1, 2, 3, 4]
    assert await offsets(asked, f"since={blocks[-1].hash}") == []
    assert await offsets(asked, "asAt=2024-01-02T00:00:00Z") == [0, 1]
    assert await offsets(asked, "state=true") == [3, 4]
    assert await offsets(asked, "asOf=2024-01-02T00:00:00Z") == []


@pytest.mark.parametrize(
    ("parameters", "status"),
    [
        ("foo=1", 400),
        ("from=x", 400),
        ("since=x", 400),
        ("state=maybe", 400),
        ("asAt=now", 400),
        (f"block=f1620{'0' * 64}", 404),
    ],
)
async def test_what_is_unknown_is_refused(asked: Hosted, parameters: str, status: int) -> None:
    assert (await get(asked, f"data.csv?{parameters}")).status == status


async def test_private_records_are_for_those_who_may_read_them(asked: Hosted) -> None:
    path = asked.path("secret") + "/data.csv"
    assert (await asked.ask("GET", path)).status == 404
    answer = await asked.ask("GET", path, who="alice")
    assert answer.status == 200
    assert "private" in answer.headers["Cache-Control"]


async def test_the_file_of_the_only_slice_is_the_download(asked: Hosted) -> None:
    answer = await get(asked, "data.parquet", "small")
    slice_hash = answer.headers["ETag"].strip('"')
    assert answer.body == (await get(asked, f"data/{slice_hash}", "small")).body
    assert answer.headers["Content-Type"] == "application/vnd.apache.parquet"
    part = await get(asked, "data.parquet", "small", Range="bytes=0-3")
    assert (part.status, part.body) == (206, b"PAR1")


@pytest.mark.parametrize("kind", ["csv", "ndjson", "parquet", "arrow"])
async def test_a_broken_download_goes_on_though_the_file_was_lost(asked: Hosted, kind: str) -> None:
    whole = await get(asked, f"data.{kind}")
    shutil.rmtree(asked.settings.query_path / "downloads")
    rest = await get(asked, f"data.{kind}", Range="bytes=100-", If_Range=whole.headers["ETag"])
    assert rest.status == 206
    assert rest.headers["ETag"] == whole.headers["ETag"]
    assert whole.body[:100] + rest.body == whole.body


async def test_a_file_that_changed_is_sent_anew(asked: Hosted) -> None:
    answer = await get(asked, "data.csv", Range="bytes=1-", If_Range='"another"')
    assert answer.status == 200


async def test_who_has_it_is_not_sent_it_again_and_it_is_not_made(asked: Hosted) -> None:
    tag = (await get(asked, "data.csv?from=2")).headers["ETag"]
    shutil.rmtree(asked.settings.query_path / "downloads")
    answer = await get(asked, "data.csv?from=2", If_None_Match=tag)
    assert (answer.status, answer.body) == (304, b"")
    assert not (asked.settings.query_path / "downloads").exists()


async def test_nothing_is_left_but_the_files(asked: Hosted) -> None:
    await get(asked, "data.csv")
    assert [each.name for each in asked.settings.query_path.iterdir()] == ["downloads"]
