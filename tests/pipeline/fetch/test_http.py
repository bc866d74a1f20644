"""HTTP sources against a real server on this machine: conditions, ways that lead on, failures, secrets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from opendatafabric.errors import AccessDenied, LimitExceeded, MalformedManifest, NotFound, PeerUnavailable
from opendatafabric.instant import Instant
from opendatafabric.metadata.sources import (
    EventTimeSourceFromSystemTime,
    FetchStepUrl,
    ReadStepCsv,
    RequestHeader,
    SourceCachingForever,
)
from pipeline.fetch import FetchOptions, fetch, http, sink
from pipeline.fetch.fetched import ETAG, LAST_MODIFIED, state_of
from tests.pipeline.polling import poller

NOTHING = FetchOptions()


class Source:
    """A resource with headers that tests set; remembers what it was asked."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.status = 200
        self.body = b"a,1\n"
        self.asked: list[Any] = []

    async def answer(self, request: web.Request) -> web.Response:
        """304 if the condition says so."""
        self.asked.append(request.headers)
        same = request.headers.get("If-None-Match") == self.headers.get("ETag", "-")
        same |= request.headers.get("If-Modified-Since") == self.headers.get("Last-Modified", "-")
        return web.Response(status=304 if same else self.status, body=self.body, headers=self.headers)


async def redirect(target: str, _: web.Request) -> web.Response:
    """Sends on to ``target``."""
    return web.Response(status=302, headers={"Location": target})


@pytest.fixture
def source() -> Source:
    """What the server serves."""
    return Source()


@pytest.fixture
async def url(source: Source) -> AsyncIterator[str]:
    """Where it serves it; ``/moved`` leads there."""
    app = web.Application()
    app.router.add_get("/data.csv", source.answer)
    app.router.add_get("/moved", partial(redirect, "/data.csv"))
    app.router.add_get("/around", partial(redirect, "/around"))
    async with TestServer(app) as server:
        yield str(server.make_url("/data.csv"))


async def test_progress_hears_of_the_bytes_as_they_come(url: str, source: Source, tmp_path: Path) -> None:
    told: list[tuple[str, int, int | None]] = []
    source.body = bytes(3_000_000)
    await fetch(FetchStepUrl(url), None, tmp_path, FetchOptions(progress=lambda *each: told.append(each)))
    assert len(told) > 1
    assert told[-1] == ("bytes", 3_000_000, 3_000_000)
    assert told == sorted(told)


async def test_an_etag_is_remembered_and_asked_for(url: str, source: Source, tmp_path: Path) -> None:
    source.headers = {"ETag": '"v1"', "Last-Modified": "Wed, 21 Oct 2015 07:28:00 GMT"}
    found = await fetch(FetchStepUrl(url), None, tmp_path, NOTHING)
    assert found is not None
    assert found.file.read_bytes() == b"a,1\n"
    assert (found.state, found.event_time) == (state_of(ETAG, '"v1"'), None)
    assert await fetch(FetchStepUrl(url), found.state, tmp_path, NOTHING) is None


async def test_without_etag_the_time_of_change_counts(url: str, source: Source, tmp_path: Path) -> None:
    source.headers = {"Last-Modified": "Wed, 21 Oct 2015 07:28:00 GMT"}
    found = await fetch(FetchStepUrl(url), None, tmp_path, NOTHING)
    assert found is not None
    assert found.state == state_of(LAST_MODIFIED, "2015-10-21T07:28:00Z")
    assert found.event_time == Instant.from_rfc3339("2015-10-21T07:28:00Z")
    assert await fetch(FetchStepUrl(url), found.state, tmp_path, NOTHING) is None


async def test_a_source_that_says_neither_leaves_no_state(url: str, tmp_path: Path) -> None:
    found = await fetch(FetchStepUrl(url), None, tmp_path, NOTHING)
    assert found is not None
    assert found.state is None


async def test_a_changed_source_is_fetched_again(url: str, source: Source, tmp_path: Path) -> None:
    source.headers = {"ETag": '"v2"'}
    assert await fetch(FetchStepUrl(url), state_of(ETAG, '"v1"'), tmp_path, NOTHING) is not None


async def test_redirects_are_followed_so_far(url: str, tmp_path: Path) -> None:
    moved, around = (url.replace("data.csv", name) for name in ("moved", "around"))
    assert await fetch(FetchStepUrl(moved), None, tmp_path, NOTHING) is not None
    with pytest.raises(PeerUnavailable, match="for ever"):
        await fetch(FetchStepUrl(around), None, tmp_path, NOTHING)


async def test_headers_and_address_may_hold_allowed_variables(url: str, source: Source, tmp_path: Path) -> None:
    step = FetchStepUrl(url + "?key=${{ env.KEY }}", headers=(RequestHeader("X-Key", "k ${{env.KEY}}"),))
    await fetch(step, None, tmp_path, FetchOptions({"KEY": "secret"}))
    assert source.asked[0]["X-Key"] == "k secret"


async def test_a_failing_source_is_named_without_its_secrets(url: str, source: Source, tmp_path: Path) -> None:
    source.status = 500
    with pytest.raises(PeerUnavailable, match="answered 500") as caught:
        await fetch(FetchStepUrl(url + "?key=secret"), None, tmp_path, NOTHING)
    assert "secret" not in str(caught.value.as_dict())


async def test_a_source_that_is_not_there_is_said_to_be_so(url: str, source: Source, tmp_path: Path) -> None:
    source.status = 404
    with pytest.raises(NotFound):
        await fetch(FetchStepUrl(url), None, tmp_path, NOTHING)


async def test_nobody_listening_is_worth_another_try(unused_tcp_port: int, tmp_path: Path) -> None:
    with pytest.raises(PeerUnavailable) as caught:
        await fetch(FetchStepUrl(f"http://127.0.0.1:{unused_tcp_port}/x"), None, tmp_path, NOTHING)
    assert caught.value.retryable


async def test_the_event_time_can_be_left_to_the_system(url: str, source: Source, tmp_path: Path) -> None:
    source.headers = {"Last-Modified": "Wed, 21 Oct 2015 07:28:00 GMT"}
    found = await fetch(FetchStepUrl(url, EventTimeSourceFromSystemTime()), None, tmp_path, NOTHING)
    assert found is not None
    assert found.event_time is None


async def test_secrets_in_headers_stay_with_the_origin_they_were_written_for(
    url: str, source: Source, tmp_path: Path
) -> None:
    app = web.Application()
    app.router.add_get("/there", partial(redirect, url))
    step_headers = (RequestHeader("X-Key", "secret"),)
    async with TestServer(app) as elsewhere:
        step = FetchStepUrl(str(elsewhere.make_url("/there")), headers=step_headers)
        assert await fetch(step, None, tmp_path, NOTHING) is not None
    assert "X-Key" not in source.asked[0]


async def test_secrets_in_headers_go_on_where_the_same_origin_leads(url: str, source: Source, tmp_path: Path) -> None:
    step = FetchStepUrl(url.replace("data.csv", "moved"), headers=(RequestHeader("X-Key", "secret"),))
    assert await fetch(step, None, tmp_path, NOTHING) is not None
    assert source.asked[0]["X-Key"] == "secret"


async def test_a_way_out_of_http_is_not_followed(tmp_path: Path) -> None:
    app = web.Application()
    app.router.add_get("/", partial(redirect, "file:///etc/passwd"))
    async with TestServer(app) as server:
        with pytest.raises(PeerUnavailable, match="scheme 'file'"):
            await fetch(FetchStepUrl(str(server.make_url("/"))), None, tmp_path, NOTHING)


async def test_strangers_reach_no_private_address_by_no_name(url: str, source: Source, tmp_path: Path) -> None:
    for address in (url, url.replace("127.0.0.1", "localhost"), url.replace("127.0.0.1", "[::ffff:127.0.0.1]")):
        with pytest.raises(AccessDenied, match="network"):
            await fetch(FetchStepUrl(address), None, tmp_path, FetchOptions(private_places=False))
    assert not source.asked


@pytest.mark.parametrize("headers", [(("X", "a\r\nHost: b"),), (("a b", "c"),), (("", "c"),)])
async def test_headers_that_smuggle_are_refused(url: str, headers: tuple[tuple[str, str], ...], tmp_path: Path) -> None:
    step = FetchStepUrl(url, headers=tuple(RequestHeader(*each) for each in headers))
    with pytest.raises(MalformedManifest):
        await fetch(step, None, tmp_path, NOTHING)


async def test_secrets_in_the_path_are_not_told_either(url: str, source: Source, tmp_path: Path) -> None:
    step = FetchStepUrl(url.replace("http://", "http://user:secret@") + "/${{ env.KEY }}?key=secret")
    with pytest.raises(NotFound) as caught:
        await fetch(step, None, tmp_path, FetchOptions({"KEY": "secret"}))
    assert "secret" not in str(caught.value.as_dict())
    assert "${{ env.KEY }}" in caught.value.message


class TestServersThatFail:
    """Raw answers of a server, after which it closes the connection or falls silent."""

    @pytest.fixture
    def answer(self) -> bytearray:
        """What it says."""
        return bytearray()

    @pytest.fixture
    async def place(self, answer: bytearray) -> AsyncIterator[str]:
        """Where it listens."""
        silent = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(bytes(answer))
            await writer.drain()
            if answer.endswith(b"..."):
                await silent.wait()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        silent.set()
        server.close()

    @pytest.mark.parametrize(
        "said",
        [
            b"",
            b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nx",
            b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
            b"nonsense\r\n\r\n",
        ],
    )
    async def test_an_answer_that_is_cut_off_or_nonsense_is_no_data(
        self, said: bytes, answer: bytearray, place: str, tmp_path: Path
    ) -> None:
        answer += said
        with pytest.raises(PeerUnavailable):
            await fetch(FetchStepUrl(place), None, tmp_path, NOTHING)

    async def test_a_server_that_falls_silent_is_left(
        self, answer: bytearray, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(http, "_TIMEOUT", aiohttp.ClientTimeout(sock_read=0.02))
        answer += b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n..."
        with pytest.raises(PeerUnavailable, match="Timeout"):
            await fetch(FetchStepUrl(place), None, tmp_path, NOTHING)

    async def test_a_source_that_gives_too_much_is_stopped(
        self, answer: bytearray, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sink, "FETCH_BYTES_MAX", 4)
        answer += b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n12345"
        with pytest.raises(LimitExceeded, match="too much"):
            await fetch(FetchStepUrl(place), None, tmp_path, NOTHING)


READ = ReadStepCsv(schema=("name STRING", "n INT"))


async def test_a_polled_address_from_its_first_day_to_its_last(url: str, source: Source, tmp_path: Path) -> None:
    polled = await poller(tmp_path, FetchStepUrl(url), READ)
    source.headers = {"ETag": '"v1"'}
    assert len(await polled.poll()) == 1
    head = await polled.head()
    assert (await polled.poll(), await polled.head()) == ([], head)
    source.headers, source.body = {"ETag": '"v2"'}, b"b,2\n"
    await polled.die_in_the_middle()
    assert await polled.head() == head
    assert len(await polled.poll()) == 1
    assert await polled.records("name", "n") == [("a", 1), ("b", 2)]
    assert await polled.state() == state_of(ETAG, '"v2"')
    head, source.status, source.headers = await polled.head(), 404, {}
    with pytest.raises(NotFound):
        await polled.poll()
    assert await polled.head() == head


async def test_a_source_cached_for_ever_is_asked_once(url: str, source: Source, tmp_path: Path) -> None:
    source.headers = {"ETag": '"v1"'}
    polled = await poller(tmp_path, FetchStepUrl(url, cache=SourceCachingForever()), READ)
    await polled.die_in_the_middle()
    assert len(await polled.poll()) == 1
    source.headers, asked = {"ETag": '"v2"'}, len(source.asked)
    assert await polled.poll() == []
    assert len(source.asked) == asked
    assert len(await polled.poll(fetch_uncacheable=True)) == 1


async def test_another_source_is_asked_though_the_one_before_was_cached_for_ever(
    url: str, source: Source, tmp_path: Path
) -> None:
    polled = await poller(tmp_path, FetchStepUrl(url, cache=SourceCachingForever()), READ)
    await polled.poll()
    other = FetchStepUrl(url + "?other", cache=SourceCachingForever())
    await polled.set_source(other, READ)
    assert len(await polled.poll()) == 1
    assert await polled.poll() == []


async def test_an_address_that_leaves_no_state_is_asked_again_only_on_demand(
    url: str, source: Source, tmp_path: Path
) -> None:
    polled = await poller(tmp_path, FetchStepUrl(url), READ)
    assert len(await polled.poll()) == 1
    assert await polled.poll() == []
    assert len(source.asked) == 1
    assert len(await polled.poll(fetch_uncacheable=True)) == 1
