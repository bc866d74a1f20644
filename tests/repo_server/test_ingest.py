"""``POST ingest``: who may, what is taken in which format, what is answered, and that nothing is left behind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from catalog.roles import Role
from catalog.scopes import Scope
from catalog.visibility import Visibility
from opendatafabric.errors import EngineDied, EngineUnavailable
from opendatafabric.metadata.events import AddData, AddPushSource
from opendatafabric.metadata.sources import MergeStrategyAppend, ReadStepNdJson
from repo_server.config import Tenancy
from tests.pipeline.datasets import CITIES, blocks_of, csv_source
from tests.pipeline.local_engine import LocalEngine
from tests.repo_server.hosted import Hosted, hosted
from tests.repo_server.ingested import CSV, HeldEngine, add_root, engine_without_spark, push

pytestmark = pytest.mark.slow


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Hosted]:
    async with hosted(tmp_path, Tenancy.MULTI, engine=engine_without_spark(tmp_path / "engine")) as running_server:
        yield running_server


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


class TestWhatComesOfIt:
    async def test_the_new_head_and_the_rows_are_answered(self, tmp_path: Path, tenancy: Tenancy) -> None:
        async with hosted(tmp_path, tenancy, engine=engine_without_spark(tmp_path / "engine")) as server:
            dataset = await add_root(server)
            old_head = await dataset.head()
            answer = await push(server)
            told = json.loads(answer.body)
            assert answer.status == 200
            assert told["rows"] == {"read": 2, "appended": 2, "retracted": 0, "corrected": 0}
            assert (told["oldHead"], told["newHead"]) == (str(old_head), str(await dataset.head()))
            assert told["changed"]

    async def test_nothing_new_is_200_and_no_block(self, server: Hosted) -> None:
        dataset = await add_root(server)
        await push(server)
        head = await dataset.head()
        answer = await push(server, b"city,population\n")
        assert (answer.status, json.loads(answer.body)["changed"]) == (200, False)
        assert await dataset.head() == head

    async def test_a_body_in_chunks_is_taken(self, server: Hosted) -> None:
        async def pieces() -> AsyncIterator[bytes]:
            for line in CSV.splitlines(keepends=True):
                yield line

        dataset = await add_root(server)
        url, headers = f"{server.url}{server.path('cities')}/ingest", server.as_("alice") | {"Content-Type": "text/csv"}
        async with server.session.post(url, data=pieces(), headers=headers) as response:
            assert (await response.json())["rows"]["read"] == 2
        assert isinstance((await blocks_of(dataset))[-1].event, AddData)

    async def test_records_that_say_no_time_happened_when_the_header_says(self, server: Hosted) -> None:
        await add_root(server)
        answer = await push(server, odf_event_time="2020-05-06T00:00:00Z")
        assert json.loads(answer.body)["watermark"] == "2020-05-06T00:00:00Z"

    async def test_the_move_is_written_down_with_the_account(self, server: Hosted) -> None:
        dataset = await add_root(server)
        await push(server)
        moves = await server.catalog.datasets.moves((await dataset.seed()).dataset_id)
        assert [move.account_id for move in moves] == [str(server.accounts["alice"].id)]

    async def test_no_file_stays(self, server: Hosted, tmp_path: Path) -> None:
        await add_root(server)
        await push(server)
        await push(server, b"city,population\nkyiv\n")
        assert files_in(server.settings.incoming_path) == []
        assert files_in(tmp_path / "engine") == []

    async def test_two_at_once_both_enter(self, server: Hosted) -> None:
        dataset = await add_root(server)
        answers = await asyncio.gather(*(push(server) for _ in range(3)))
        assert [answer.status for answer in answers] == [200] * 3
        assert sum(isinstance(block.event, AddData) for block in await blocks_of(dataset)) == 3


class TestSources:
    @pytest.fixture
    async def two(self, server: Hosted) -> None:
        await add_root(server, "two", csv_source(name="a"), csv_source(name="b"))

    @pytest.mark.usefixtures("two")
    async def test_one_of_several_is_named(self, server: Hosted) -> None:
        assert (await push(server, name="two", query="?sourceName=b")).status == 200

    @pytest.mark.usefixtures("two")
    @pytest.mark.parametrize("query", ["", "?sourceName=c"])
    async def test_none_or_an_unknown_one_is_400(self, server: Hosted, query: str) -> None:
        answer = await push(server, name="two", query=query)
        assert (answer.status, json.loads(answer.body)["expected"]) == (400, "a, b")

    async def test_another_format_than_the_sources_is_read_as_what_it_is(self, server: Hosted) -> None:
        source = AddPushSource("default", ReadStepNdJson(schema=CITIES), None, MergeStrategyAppend())
        await add_root(server, "lines", source)
        lines = b'{"city": "kyiv", "population": 3}\n'
        for data, media_type in ((CSV, "text/csv; charset=utf-8"), (lines, "application/x-ndjson")):
            assert (await push(server, data, name="lines", Content_Type=media_type)).status == 200

    @pytest.mark.parametrize("media_type", ["application/octet-stream", "application/x-www-form-urlencoded", "csv"])
    async def test_other_media_types_are_415(self, server: Hosted, media_type: str) -> None:
        await add_root(server)
        assert (await push(server, Content_Type=media_type)).status == 415

    async def test_without_a_media_type_it_is_read_as_the_source_says(self, server: Hosted) -> None:
        await add_root(server)
        url = f"{server.url}{server.path('cities')}/ingest"
        bare = aiohttp.ClientSession(skip_auto_headers=["Content-Type"])
        async with bare as session, session.post(url, data=CSV, headers=server.as_("alice")) as response:
            assert response.status == 200


class TestRefusals:
    @pytest.mark.parametrize(
        ("data", "place"),
        [(b"city,population\nkyiv,3\nlviv,many\n", "line 3: column 'population'"), (b"a,b\n1\n", "line 2")],
    )
    async def test_what_is_wrong_is_said_with_line_and_column(self, server: Hosted, data: bytes, place: str) -> None:
        dataset = await add_root(server)
        head = await dataset.head()
        answer = await push(server, data)
        told = json.loads(answer.body)
        assert (answer.status, told["code"]) == (400, "malformed-source")
        assert place in told["message"]
        assert await dataset.head() == head

    async def test_a_file_that_is_too_large_is_413(self, tmp_path: Path) -> None:
        engine = engine_without_spark(tmp_path / "engine")
        async with hosted(tmp_path, Tenancy.MULTI, engine=engine, ingest_bytes_max=len(CSV) - 1) as server:
            await add_root(server)
            assert (await push(server)).status == 413
            chunked = server.session.post(
                f"{server.url}{server.path('cities')}/ingest",
                data=_in_pieces(CSV),
                headers=server.as_("alice") | {"Content-Type": "text/csv"},
            )
            async with chunked as response:
                assert response.status == 413
        assert engine.jobs_done == 0

    @pytest.mark.parametrize(
        "headers",
        [{"odf_event_time": "yesterday"}, {"Idempotency_Key": ""}, {"Idempotency_Key": "x" * 256}],
        ids=str,
    )
    async def test_headers_that_say_nothing_are_400(self, server: Hosted, headers: dict[str, str]) -> None:
        await add_root(server)
        assert (await push(server, **headers)).status == 400

    async def test_an_encoded_body_is_415(self, server: Hosted) -> None:
        await add_root(server)
        assert (await push(server, Content_Encoding="gzip")).status == 415

    async def test_who_may_not_write_is_told_as_for_a_push(self, server: Hosted) -> None:
        dataset = await add_root(server)
        await add_root(server, "secret", visibility=Visibility.PRIVATE)
        assert (await push(server, who=None)).status == 403
        assert (await push(server, who="bob")).status == 403
        assert (await push(server, who="bob", name="secret")).status == 404
        assert (await push(server, who="wrong")).status == 401
        assert (await push(server, name="nowhere")).status == 404
        assert (await push(server, who=await server.token("alice", Scope.DATASETS_READ))).status == 403
        await server.catalog.roles.grant((await dataset.seed()).dataset_id, server.accounts["bob"], Role.WRITER)
        assert (await push(server, who="bob")).status == 200


async def _in_pieces(data: bytes) -> AsyncIterator[bytes]:
    yield data


@dataclass
class FailingEngine(LocalEngine):
    """Has no engine in it."""

    error: Exception

    def __init__(self, root: Path, error: Exception) -> None:
        super().__init__(root)
        self.error = error

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        raise self.error


class TestEngine:
    @pytest.mark.parametrize("error", [EngineUnavailable("there is no Java"), EngineDied("it is gone")], ids=repr)
    async def test_where_there_is_none_one_may_come_again_later(self, tmp_path: Path, error: Exception) -> None:
        engine = FailingEngine(tmp_path / "engine", error)
        async with hosted(tmp_path, Tenancy.MULTI, engine=engine) as server:
            await add_root(server)
            answer = await push(server)
            assert answer.status == 503
            assert answer.headers["Retry-After"].isdecimal()

    async def test_more_than_may_wait_are_sent_away_at_once(self, tmp_path: Path) -> None:
        engine = HeldEngine(tmp_path / "engine")
        async with hosted(tmp_path, Tenancy.MULTI, engine=engine, ingests_at_once=2) as server:
            await add_root(server)
            await add_root(server, "others")
            waiting = [asyncio.create_task(push(server, name=name)) for name in ("cities", "others")]
            await engine.begun.wait()
            while (answer := await push(server)).status != 503:
                pass
            assert answer.headers["Retry-After"].isdecimal()
            engine.go.set()
            assert [(await each).status for each in waiting] == [200, 200]
            assert (await push(server)).status == 200

    async def test_a_client_that_goes_away_ends_the_job(self, tmp_path: Path) -> None:
        engine = HeldEngine(tmp_path / "engine")
        async with hosted(tmp_path, Tenancy.MULTI, engine=engine) as server:
            dataset = await add_root(server)
            head = await dataset.head()
            pushing = asyncio.create_task(push(server))
            await engine.begun.wait()
            pushing.cancel()
            async with asyncio.timeout(10):
                await engine.cancelled.wait()
            engine.go.set()
            assert await dataset.head() == head
            assert json.loads((await push(server)).body)["rows"]["appended"] == 2

    async def test_a_body_that_is_cut_off_enters_nowhere(self, tmp_path: Path) -> None:
        engine = engine_without_spark(tmp_path / "engine")
        async with hosted(tmp_path, Tenancy.MULTI, engine=engine) as server:
            dataset = await add_root(server)
            head = await dataset.head()
            host, _, port = server.url.removeprefix("http://").partition(":")
            _, writer = await asyncio.open_connection(host, int(port))
            lines = [f"POST {server.path('cities')}/ingest HTTP/1.1", f"Host: {host}", "Content-Type: text/csv"]
            lines += [f"Authorization: {server.as_('alice')['Authorization']}", "Transfer-Encoding: chunked"]
            writer.write("\r\n".join([*lines, "", f"{len(CSV):x}", ""]).encode() + CSV + b"\r\n")
            await writer.drain()
            writer.close()
            assert (await push(server)).status == 200
            assert engine.jobs_done == 1
            assert json.loads((await push(server, b"city,population\n")).body)["oldHead"] != str(head)
