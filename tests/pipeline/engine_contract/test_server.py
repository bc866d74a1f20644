"""The service over gRPC: what a coordinator sees of requests that succeed, fail, take long or are none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import pytest

from opendatafabric.errors import EngineDied, EngineFailed, EngineUnavailable, InvalidQuery, StorageError
from opendatafabric.metadata.engine_messages import (
    RawQueryResponseInternalError,
    RawQueryResponseProgress,
    RawQueryResponseSuccess,
    TransformResponseSuccess,
)
from opendatafabric.metadata.slices import OffsetInterval
from pipeline.engine_contract.client import ask
from pipeline.engine_contract.methods import RAW_QUERY, TRANSFORM
from pipeline.engine_contract.served import ServedEngine
from pipeline.engine_contract.server import answers, serving
from pipeline.worker_place import JobFolders
from tests.pipeline.datasets import day
from tests.pipeline.engine_contract.coordinator import Coordinator, query
from tests.pipeline.local_engine import LocalEngine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LARGE = "select op, event_time, city from cities where population > 10"


@pytest.fixture
async def address(engine: ServedEngine) -> AsyncIterator[str]:
    async with serving(engine, host="127.0.0.1", port=0) as port:
        yield f"127.0.0.1:{port}"


class StuckEngine(LocalEngine):
    """Its jobs do not end."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.begun, self.cancelled = asyncio.Event(), asyncio.Event()

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return {}


class BrokenEngine:
    """Fails as nothing should."""

    def folders(self) -> AbstractContextManager[JobFolders]:
        raise ZeroDivisionError("no division by zero")

    def run(self, job: str, arguments: dict[str, Any]) -> Awaitable[dict[str, Any]]:
        raise AssertionError


async def test_a_step_is_answered_by_progress_and_its_success(address: str, coordinator: Coordinator) -> None:
    given = coordinator.input(coordinator.cities(lviv=5, kyiv=30), offsets=(0, 1), marks=(day(2),))
    signs: list[str] = []
    request = coordinator.step(query(LARGE), given)
    answer = await ask(address, TRANSFORM, request, progress=lambda: signs.append("alive"))
    assert answer == TransformResponseSuccess(OffsetInterval(0, 0), day(2))
    assert coordinator.made == {"new-data", "new-checkpoint"}
    assert signs


async def test_a_raw_query_is_answered(address: str, coordinator: Coordinator) -> None:
    request = coordinator.raw(query("select city from input"), coordinator.cities(lviv=5))
    assert await ask(address, RAW_QUERY, request) == RawQueryResponseSuccess(1)


async def test_a_query_that_does_not_hold_is_an_invalid_query(address: str, coordinator: Coordinator) -> None:
    file = coordinator.cities(lviv=5)
    with pytest.raises(InvalidQuery, match="nothing"):
        await ask(address, RAW_QUERY, coordinator.raw(query("select nothing from input"), file))
    with pytest.raises(InvalidQuery, match=r"no event time.*hint: select it"):
        await ask(address, TRANSFORM, coordinator.step(query("select 1 from cities"), coordinator.input(file)))


async def test_an_engine_that_is_not_there_is_an_invalid_query(address: str, coordinator: Coordinator) -> None:
    request = coordinator.raw(query("select 1", engine="flink"), coordinator.cities(lviv=5))
    with pytest.raises(InvalidQuery, match="flink"):
        await ask(address, RAW_QUERY, request)


async def test_any_other_failure_is_an_internal_error_that_says_its_code(
    address: str, coordinator: Coordinator
) -> None:
    with pytest.raises(EngineFailed, match="access-denied"):
        await ask(address, RAW_QUERY, coordinator.raw(query("select 1"), "/etc/passwd"))


async def test_what_is_no_error_of_ours_is_told_with_its_traceback(coordinator: Coordinator) -> None:
    engine = ServedEngine(BrokenEngine(), coordinator.folder)
    work = engine.raw_query(coordinator.raw(query("select 1"), coordinator.cities(lviv=5)))
    last = [answer async for answer in answers(RAW_QUERY, work)][-1]
    assert isinstance(last, RawQueryResponseInternalError)
    assert last.message == "ZeroDivisionError: no division by zero"
    assert "Traceback" in str(last.backtrace)


async def test_a_request_that_cannot_be_read_is_refused(address: str) -> None:
    async with grpc.aio.insecure_channel(address) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as told:
            _ = [answer async for answer in channel.unary_stream(TRANSFORM.path)(b"no request")]
    assert told.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "TransformRequest" in told.value.details()


async def test_signs_of_life_come_as_long_as_it_takes() -> None:
    done = asyncio.Event()

    async def work() -> RawQueryResponseSuccess:
        await done.wait()
        return RawQueryResponseSuccess(0)

    heard: list[Any] = []
    async for answer in answers(RAW_QUERY, work(), every_s=0.001):
        heard.append(answer)
        if len(heard) == 5:
            done.set()
    assert heard[-1] == RawQueryResponseSuccess(0)
    assert set(map(type, heard[:-1])) == {RawQueryResponseProgress}
    assert len(heard) >= 6


async def test_a_coordinator_that_goes_away_ends_the_job(coordinator: Coordinator, tmp_path: Path) -> None:
    engine = StuckEngine(tmp_path / "stuck")
    request = coordinator.raw(query("select 1"), coordinator.cities(lviv=5))
    async with serving(ServedEngine(engine, coordinator.folder), host="127.0.0.1", port=0) as port:
        asking = asyncio.create_task(ask(f"127.0.0.1:{port}", RAW_QUERY, request))
        await engine.begun.wait()
        asking.cancel()
        await asyncio.wait_for(engine.cancelled.wait(), 10)


async def test_an_engine_that_takes_too_long_is_given_up(coordinator: Coordinator, tmp_path: Path) -> None:
    engine = StuckEngine(tmp_path / "stuck")
    request = coordinator.raw(query("select 1"), coordinator.cities(lviv=5))
    async with serving(ServedEngine(engine, coordinator.folder), host="127.0.0.1", port=0) as port:
        with pytest.raises(EngineFailed, match="too long"):
            await ask(f"127.0.0.1:{port}", RAW_QUERY, request, timeout_s=0.05)


async def test_where_nobody_listens_no_engine_answers(engine: ServedEngine, coordinator: Coordinator) -> None:
    async with serving(engine, host="127.0.0.1", port=0) as port:
        pass
    with pytest.raises(EngineUnavailable, match=f"127.0.0.1:{port}"):
        await ask(f"127.0.0.1:{port}", RAW_QUERY, coordinator.raw(query("select 1")))


async def test_a_server_that_is_no_engine_is_told(coordinator: Coordinator) -> None:
    server = grpc.aio.server()
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    with pytest.raises(EngineDied, match="unimplemented"):
        await ask(f"127.0.0.1:{port}", RAW_QUERY, coordinator.raw(query("select 1")))
    await server.stop(None)


async def test_a_port_that_is_taken_is_told(engine: ServedEngine) -> None:
    async with serving(engine, host="127.0.0.1", port=0) as port:
        with pytest.raises(StorageError, match="cannot listen"):
            async with serving(engine, host="127.0.0.1", port=port):
                pass


async def test_spark_answers_as_well(coordinator: Coordinator, tmp_path: Path, spark: SparkSession) -> None:
    engine = ServedEngine(LocalEngine(tmp_path / "engine", lambda: spark), coordinator.folder)
    given = coordinator.input(coordinator.cities(lviv=5, kyiv=30), offsets=(0, 1), marks=(day(2),))
    async with serving(engine, host="127.0.0.1", port=0) as port:
        address = f"127.0.0.1:{port}"
        step = coordinator.step(query(LARGE, "select * from step0", engine="spark"), given, next_offset=3)
        assert await ask(address, TRANSFORM, step) == TransformResponseSuccess(OffsetInterval(3, 3), day(2))
        nothing = coordinator.step(query(f"{LARGE} and false", engine="spark"), given, name="nothing")
        assert await ask(address, TRANSFORM, nothing) == TransformResponseSuccess(None, day(2))
        wrong = coordinator.step(query("select none from cities", engine="spark"), given, name="wrong")
        with pytest.raises(InvalidQuery, match="none"):
            await ask(address, TRANSFORM, wrong)
    assert coordinator.rows("offset", "city") == [{"offset": 3, "city": "kyiv"}]
