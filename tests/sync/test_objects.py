"""Downloads and uploads: tried again, resumed, renewed, and never believed."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web

from opendatafabric.errors import (
    HashMismatch,
    ObjectNotFound,
    OdfError,
    PeerUnavailable,
    ProtocolViolation,
    SizeMismatch,
    TransferRejected,
)
from opendatafabric.layout import data_key
from opendatafabric.multihash import physical_hash
from storage import backoff
from storage.dataset import object_key
from storage.progress import BYTES
from sync import objects
from sync.pull import pull_dataset
from sync.smart.messages import HeaderRow, TransferUrl
from sync.transfer import DatasetTarget
from tests.sync.scenarios.stage import Stage, assert_holds, fill, history
from tests.sync.smart_server import Asked, Fault, once, smart_server

KEY = data_key(physical_hash(b"slice 0"))


@pytest.fixture
async def stage(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    """A client that does not wait between tries."""
    monkeypatch.setattr(backoff, "WAIT_S_MAX", 0.0)
    monkeypatch.setattr(backoff, "ASKED_WAIT_S_MAX", 0.0)
    async with smart_server() as server, aiohttp.ClientSession() as session:
        yield Stage(server, session)


def broken_off(content: bytes, sent: int) -> Fault:
    """A body that ends early: more is announced than comes."""

    def answer(request: Asked) -> web.Response | None:
        response = web.Response(body=content[:sent], headers={"Content-Length": str(len(content))})
        response.force_close()
        return response

    return answer


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


@pytest.mark.parametrize(("status", "error"), [(404, ObjectNotFound), (400, TransferRejected)])
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


@pytest.mark.parametrize("status", [401, 403, 410])
async def test_an_address_that_expired_is_asked_for_anew(stage: Stage, status: int) -> None:
    builder = history()
    await fill(stage.remote, builder)

    def expire(request: Asked) -> web.Response | None:
        stage.server.generation = 1
        return web.Response(status=status) if request.query["generation"] == "0" else None

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
    assert len(await stage.server.outcomes(2)) == 2


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

    def look(request: Asked) -> web.Response | None:
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


async def test_another_version_of_an_object_is_not_mixed_in(stage: Stage) -> None:
    content = bytes(range(256)) * 8_000
    builder = history(slices=0)
    builder.data(content)
    await fill(stage.remote, builder)
    seen: list[str | None] = []

    def breaking(request: Asked) -> web.Response | None:
        response = broken_off(content, 1_000_000)(request)
        assert response is not None
        response.headers["ETag"] = '"one"'
        return response

    def changed(request: Asked) -> web.Response | None:
        seen.append(request.headers.get("If-Range"))
        return web.Response(body=content, headers={"ETag": '"two"'})

    stage.server.faults = [breaking, changed]
    await stage.pull()
    assert seen == ['"one"']
    await assert_holds(stage.local, builder)


@pytest.mark.parametrize(("start", "error"), [(999_999, None), (1_000_001, TransferRejected)])
async def test_a_range_that_begins_elsewhere(stage: Stage, start: int, error: type[OdfError] | None) -> None:
    content = bytes(range(256)) * 8_000
    builder = history(slices=0)
    builder.data(content)
    await fill(stage.remote, builder)
    span = f"bytes {start}-{len(content) - 1}/{len(content)}"
    stage.server.faults = [broken_off(content, 1_000_000), once(206, body=content[start:], Content_Range=span)]
    if error is None:
        await stage.pull()
        await assert_holds(stage.local, builder)
    else:
        with pytest.raises(error, match="another part"):
            await stage.pull()


async def test_what_fails_does_not_count_as_moved(stage: Stage) -> None:
    builder = history(slices=1)
    await fill(stage.remote, builder)
    stage.server.faults = [once(200, body=b"slic"), once(503)]
    seen: list[int] = []

    def watch(label: str, done: int, total: int | None) -> None:
        if label == BYTES:
            seen.append(done)

    target = DatasetTarget(stage.local)
    with pytest.raises(SizeMismatch):
        await pull_dataset(stage.session, stage.server.location, target, progress=watch)
    await pull_dataset(stage.session, stage.server.location, target, progress=watch)
    assert seen == [4, 0, 0, 7]


async def test_an_object_that_is_not_here_cannot_be_sent(stage: Stage) -> None:
    await fill(stage.local, history(slices=1))
    await stage.local.writable_objects().delete(KEY)
    with pytest.raises(ObjectNotFound, match="not here"):
        await stage.push()
    assert stage.server.requests == []
    assert await stage.remote.head() is None


BAD_URLS = ["", "nowhere", "ftp://host/", "file:///etc/passwd", "http://[::1", "http://host:99999/", "http://a b/"]
BAD_URLS += ["http://é/", "http://host/" + "x" * 9_000, "http:///path", "http://host/\r\nEvil: yes"]


@pytest.mark.parametrize("url", BAD_URLS)
async def test_an_address_that_is_none_is_refused(stage: Stage, url: str) -> None:
    await fill(stage.remote, history(slices=1))
    stage.server.download_url = lambda file: TransferUrl.model_construct(url=url, headers=())  # type: ignore[method-assign]
    with pytest.raises((ProtocolViolation, TransferRejected)):
        await stage.pull()
    assert await stage.local.head() is None


@pytest.mark.parametrize(
    ("name", "value"), [("a b", "c"), ("", "c"), ("a\r\nb", "c"), ("a", "b\r\nEvil: yes"), ("a", "\0"), ("é", "c")]
)
async def test_a_header_that_is_none_is_refused(stage: Stage, name: str, value: str) -> None:
    await fill(stage.remote, history(slices=1))
    row = HeaderRow.model_construct(name=name, value=value)
    stage.server.download_url = lambda file: TransferUrl.model_construct(  # type: ignore[method-assign]
        url=stage.server.address + object_key(file), headers=(row,)
    )
    with pytest.raises(ProtocolViolation, match=r"header"):
        await stage.pull()
    assert stage.server.requests == []


async def test_headers_of_the_connection_are_not_for_the_peer_to_set(stage: Stage) -> None:
    builder = history()
    await fill(stage.local, builder)
    rows = tuple(
        HeaderRow(name=name, value=value)
        for name, value in [("content-length", "1"), ("transfer-encoding", "chunked"), ("content-type", "text/plain")]
    )
    stage.server.upload_url = lambda file: TransferUrl(  # type: ignore[method-assign]
        url=stage.server.address + object_key(file), headers=rows
    )
    await stage.push()
    await assert_holds(stage.remote, builder)
