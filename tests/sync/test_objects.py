"""Downloads and uploads: tried again, resumed, renewed, and never believed."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web

from opendatafabric.errors import (
    AccessDenied,
    HashMismatch,
    ObjectNotFound,
    OdfError,
    PeerUnavailable,
    SizeMismatch,
    TransferRejected,
)
from opendatafabric.layout import data_key
from opendatafabric.multihash import physical_hash
from sync import backoff, objects
from tests.sync.scenarios.stage import Stage, assert_holds, fill, history
from tests.sync.smart_server import Fault, once, smart_server

KEY = data_key(physical_hash(b"slice 0"))


@pytest.fixture
async def stage(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    """A client that does not wait between tries."""
    monkeypatch.setattr(backoff, "WAIT_S_MAX", 0.0)
    async with smart_server() as server, aiohttp.ClientSession() as session:
        yield Stage(server, session)


def broken_off(content: bytes, sent: int) -> Fault:
    """A body that ends early: more is announced than comes."""

    def answer(request: web.Request) -> web.Response | None:
        response = web.Response(body=content[:sent], headers={"Content-Length": str(len(content))})
        response.force_close()
        return response

    return answer


def expired(request: web.Request) -> web.Response | None:
    return web.Response(status=403) if request.query["generation"] == "0" else None


async def test_a_server_that_is_busy_is_asked_again(stage: Stage) -> None:
    builder = history()
    await fill(stage.remote, builder)
    stage.server.faults = [once(503, Retry_After="1"), once(429), once(500), once(408)]
    await stage.pull()
    await assert_holds(stage.local, builder)


async def test_a_server_that_stays_broken_is_given_up(stage: Stage) -> None:
    await fill(stage.remote, history(slices=1))
    stage.server.faults = [once(500) for _ in range(50)]
    with pytest.raises(PeerUnavailable, match="500"):
        await stage.pull()
    assert len(stage.server.requests) == backoff.TRIES
    assert await stage.local.head() is None


@pytest.mark.parametrize(("status", "error"), [(404, ObjectNotFound), (401, AccessDenied), (400, TransferRejected)])
async def test_a_final_answer_is_final(stage: Stage, status: int, error: type[OdfError]) -> None:
    await fill(stage.remote, history(slices=1))
    stage.server.faults = [once(status)]
    with pytest.raises(error):
        await stage.pull()
    assert len(stage.server.requests) == 1
    assert await stage.local.head() is None


async def test_a_redirect_is_not_followed(stage: Stage) -> None:
    await fill(stage.remote, history(slices=1))
    stage.server.faults = [once(302, Location="/elsewhere")]
    with pytest.raises(TransferRejected):
        await stage.pull()


@pytest.mark.parametrize(
    ("body", "error"), [(b"slice X", HashMismatch), (b"slice", SizeMismatch), (b"slice 0 and more", OdfError)]
)
async def test_wrong_bytes_are_refused(stage: Stage, body: bytes, error: type[OdfError]) -> None:
    await fill(stage.remote, history(slices=1))
    stage.server.faults = [once(200, body=body) for _ in range(backoff.TRIES)]
    with pytest.raises(error):
        await stage.pull()
    assert await stage.local.head() is None
    with pytest.raises(ObjectNotFound):
        await stage.local.objects.stat(KEY)


@pytest.mark.parametrize("sends_range", [True, False])
async def test_a_download_that_breaks_off_goes_on_where_it_stopped(stage: Stage, sends_range: bool) -> None:
    content = bytes(range(256)) * 8_000
    builder = history(slices=0)
    builder.data(content)
    await fill(stage.remote, builder)
    stage.server.sends_range = sends_range
    stage.server.faults = [broken_off(content, 1_000_000)]
    await stage.pull()
    await assert_holds(stage.local, builder)
    assert [asked for _, _, asked in stage.server.requests] == [None, "bytes=1000000-"]


async def test_an_address_that_expired_is_asked_for_anew(stage: Stage) -> None:
    builder = history()
    await fill(stage.remote, builder)

    def expire(request: web.Request) -> web.Response | None:
        stage.server.generation = 1
        return expired(request)

    stage.server.faults = [expire]
    result = await stage.pull()
    await assert_holds(stage.local, builder)
    assert result.objects_moved == 2


async def test_addresses_that_expire_at_once_are_given_up(stage: Stage) -> None:
    await fill(stage.remote, history(slices=1))
    stage.server.faults = [once(403) for _ in range(50)]
    with pytest.raises(TransferRejected, match="expires"):
        await stage.pull()


async def test_an_upload_is_tried_again(stage: Stage) -> None:
    builder = history()
    await fill(stage.local, builder)
    stage.server.faults = [once(503), once(502)]
    await stage.push()
    await assert_holds(stage.remote, builder)


async def test_an_upload_address_that_expired_starts_the_push_anew(stage: Stage) -> None:
    builder = history()
    await fill(stage.local, builder)
    stage.server.faults = [once(403)]
    await stage.push()
    await assert_holds(stage.remote, builder)
    assert len(stage.server.outcomes) == 2


async def test_an_upload_that_is_refused_ends_the_push(stage: Stage) -> None:
    await fill(stage.local, history())
    stage.server.faults = [once(400)]
    with pytest.raises(TransferRejected, match="400"):
        await stage.push()
    assert await stage.remote.head() is None


async def test_an_object_damaged_at_the_source_is_not_taken(stage: Stage) -> None:
    await fill(stage.local, history(slices=1))
    await stage.local.writable_objects().delete(KEY)
    await stage.local.writable_objects().put(KEY, b"slice X")
    with pytest.raises(TransferRejected):
        await stage.push()
    assert await stage.remote.head() is None


async def test_the_headers_of_an_address_are_sent(stage: Stage) -> None:
    await fill(stage.remote, history(slices=1))
    seen: list[str | None] = []

    def look(request: web.Request) -> web.Response | None:
        seen.append(request.headers.get("x-proof"))
        return None

    stage.server.faults = [look]
    await stage.pull()
    assert seen == ["of this address"]


async def test_the_first_error_of_many_ends_all() -> None:
    done: list[int] = []

    async def act(number: int) -> None:
        if number == 3:
            raise TransferRejected("the third")
        done.append(number)

    with pytest.raises(TransferRejected, match="the third"):
        await objects.in_parallel(range(100), act, at_once=2)
    assert len(done) < 100
