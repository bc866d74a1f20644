"""Polling sources against real files and a real server on this machine."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from opendatafabric.errors import (
    AccessDenied,
    LimitExceeded,
    MalformedManifest,
    MalformedSource,
    NotFound,
    PeerUnavailable,
    UnsupportedOperation,
)
from opendatafabric.instant import Instant
from opendatafabric.metadata.sources import (
    EventTimeSourceFromPath,
    EventTimeSourceFromSystemTime,
    FetchStepContainer,
    FetchStepFilesGlob,
    FetchStepUrl,
    RequestHeader,
)
from pipeline.fetch import FetchOptions, fetch
from pipeline.fetch.fetched import ETAG, LAST_MODIFIED, state_of
from pipeline.fetch.templates import resolve

NOTHING = FetchOptions()


class Source:
    """A resource with headers that tests set; remembers what it was asked."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.status = 200
        self.asked: list[Any] = []

    async def answer(self, request: web.Request) -> web.Response:
        """304 if the condition says so."""
        self.asked.append(request.headers)
        same = request.headers.get("If-None-Match") == self.headers.get("ETag", "-")
        same |= request.headers.get("If-Modified-Since") == self.headers.get("Last-Modified", "-")
        return web.Response(status=304 if same else self.status, body=b"a,1\n", headers=self.headers)


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


class TestHttp:
    async def test_an_etag_is_remembered_and_asked_for(self, url: str, source: Source, tmp_path: Path) -> None:
        source.headers = {"ETag": '"v1"', "Last-Modified": "Wed, 21 Oct 2015 07:28:00 GMT"}
        found = await fetch(FetchStepUrl(url), None, tmp_path, NOTHING)
        assert found is not None
        assert found.file.read_bytes() == b"a,1\n"
        assert (found.state, found.event_time) == (state_of(ETAG, '"v1"'), None)
        assert await fetch(FetchStepUrl(url), found.state, tmp_path, NOTHING) is None

    async def test_without_etag_the_time_of_change_counts(self, url: str, source: Source, tmp_path: Path) -> None:
        source.headers = {"Last-Modified": "Wed, 21 Oct 2015 07:28:00 GMT"}
        found = await fetch(FetchStepUrl(url), None, tmp_path, NOTHING)
        assert found is not None
        assert found.state == state_of(LAST_MODIFIED, "2015-10-21T07:28:00Z")
        assert found.event_time == Instant.from_rfc3339("2015-10-21T07:28:00Z")
        assert await fetch(FetchStepUrl(url), found.state, tmp_path, NOTHING) is None

    async def test_a_source_that_says_neither_leaves_no_state(self, url: str, tmp_path: Path) -> None:
        found = await fetch(FetchStepUrl(url), None, tmp_path, NOTHING)
        assert found is not None
        assert found.state is None

    async def test_a_changed_source_is_fetched_again(self, url: str, source: Source, tmp_path: Path) -> None:
        source.headers = {"ETag": '"v2"'}
        assert await fetch(FetchStepUrl(url), state_of(ETAG, '"v1"'), tmp_path, NOTHING) is not None

    async def test_redirects_are_followed_so_far(self, url: str, tmp_path: Path) -> None:
        moved, around = (url.replace("data.csv", name) for name in ("moved", "around"))
        assert await fetch(FetchStepUrl(moved), None, tmp_path, NOTHING) is not None
        with pytest.raises(PeerUnavailable, match="TooManyRedirects"):
            await fetch(FetchStepUrl(around), None, tmp_path, NOTHING)

    async def test_headers_and_address_may_hold_allowed_variables(
        self, url: str, source: Source, tmp_path: Path
    ) -> None:
        step = FetchStepUrl(url + "?key=${{ env.KEY }}", headers=(RequestHeader("X-Key", "k ${{env.KEY}}"),))
        await fetch(step, None, tmp_path, FetchOptions({"KEY": "secret"}))
        assert source.asked[0]["X-Key"] == "k secret"

    async def test_a_failing_source_is_named_without_its_secrets(
        self, url: str, source: Source, tmp_path: Path
    ) -> None:
        source.status = 500
        with pytest.raises(PeerUnavailable, match="answered 500") as caught:
            await fetch(FetchStepUrl(url + "?key=secret"), None, tmp_path, NOTHING)
        assert "secret" not in str(caught.value.as_dict())

    async def test_a_source_that_is_not_there_is_said_to_be_so(self, url: str, source: Source, tmp_path: Path) -> None:
        source.status = 404
        with pytest.raises(NotFound):
            await fetch(FetchStepUrl(url), None, tmp_path, NOTHING)

    async def test_nobody_listening_is_worth_another_try(self, unused_tcp_port: int, tmp_path: Path) -> None:
        with pytest.raises(PeerUnavailable) as caught:
            await fetch(FetchStepUrl(f"http://127.0.0.1:{unused_tcp_port}/x"), None, tmp_path, NOTHING)
        assert caught.value.retryable


class TestFile:
    async def test_a_file_is_new_when_its_time_of_change_is(self, tmp_path: Path) -> None:
        file = tmp_path / "data.csv"
        file.write_text("a")
        os.utime(file, ns=(0, 1_600_000_000_123_600_000))
        found = await fetch(FetchStepUrl(file.as_uri()), None, tmp_path, NOTHING)
        assert found is not None
        assert found.state == state_of(LAST_MODIFIED, "2020-09-13T12:26:40.124Z")
        assert found.event_time == Instant.from_rfc3339("2020-09-13T12:26:40.124Z")
        assert await fetch(FetchStepUrl(file.as_uri()), found.state, tmp_path, NOTHING) is None
        os.utime(file, (5, 5))
        assert await fetch(FetchStepUrl(file.as_uri()), found.state, tmp_path, NOTHING) is not None

    async def test_the_event_time_can_be_left_to_the_system(self, tmp_path: Path) -> None:
        file = tmp_path / "data.csv"
        file.touch()
        step = FetchStepUrl(file.as_uri(), event_time=EventTimeSourceFromSystemTime())
        found = await fetch(step, None, tmp_path, NOTHING)
        assert found is not None
        assert found.event_time is None

    async def test_a_file_that_is_not_there_is_said_to_be_so(self, tmp_path: Path) -> None:
        with pytest.raises(NotFound, match="nowhere"):
            await fetch(FetchStepUrl((tmp_path / "nowhere").as_uri()), None, tmp_path, NOTHING)

    @pytest.mark.parametrize("url", ["ftp://127.0.0.1/x", "s3://b/x", "data.csv"])
    async def test_other_schemes_are_refused(self, url: str, tmp_path: Path) -> None:
        with pytest.raises(UnsupportedOperation, match="scheme"):
            await fetch(FetchStepUrl(url), None, tmp_path, NOTHING)


class TestFilesGlob:
    @pytest.fixture
    def step(self, tmp_path: Path) -> FetchStepFilesGlob:
        """Three files by their day."""
        for name in ("d-2020-01-02.csv", "d-2020-01-01.csv", "d-2020-01-03.csv", "other.txt"):
            (tmp_path / name).touch()
        pattern = EventTimeSourceFromPath(r"d-(\d+-\d+-\d+)\.csv")
        return FetchStepFilesGlob(str(tmp_path / "d-*.csv"), event_time=pattern)

    async def test_files_come_by_name_one_at_a_time(self, step: FetchStepFilesGlob, tmp_path: Path) -> None:
        state, names = None, []
        while (found := await fetch(step, state, tmp_path, NOTHING)) is not None:
            state = found.state
            names.append((found.file.name, str(found.event_time), found.has_more))
        assert names == [
            ("d-2020-01-01.csv", "2020-01-01T00:00:00Z", True),
            ("d-2020-01-02.csv", "2020-01-02T00:00:00Z", True),
            ("d-2020-01-03.csv", "2020-01-03T00:00:00Z", False),
        ]

    async def test_no_file_is_an_error_only_at_the_first_time(self, tmp_path: Path) -> None:
        step = FetchStepFilesGlob(str(tmp_path / "*.csv"))
        with pytest.raises(NotFound):
            await fetch(step, None, tmp_path, NOTHING)
        assert await fetch(step, state_of(ETAG, "a.csv"), tmp_path, NOTHING) is None

    async def test_a_name_without_its_time_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "d-x.csv").touch()
        step = FetchStepFilesGlob(str(tmp_path / "*.csv"), event_time=EventTimeSourceFromPath(r"d-(\d+)"))
        with pytest.raises(MalformedSource, match=r"d-x\.csv"):
            await fetch(step, None, tmp_path, NOTHING)


class TestTemplates:
    def test_the_first_alternative_with_a_value_wins(self) -> None:
        assert resolve("a ${{ env.X || env.Y || 'z' }} ${{ 1.5 }}", {"Y": "y"}) == "a y 1.5"

    def test_a_variable_that_is_not_allowed_is_refused(self) -> None:
        with pytest.raises(AccessDenied, match=r"env\.X"):
            resolve("${{ env.X }}", {})

    def test_a_value_that_holds_its_own_template_ends(self) -> None:
        with pytest.raises(LimitExceeded):
            resolve("${{ env.X }}", {"X": "${{ env.X }}"})

    def test_other_forms_are_refused(self) -> None:
        with pytest.raises(MalformedManifest, match="os"):
            resolve("${{ os.environ }}", {})


async def test_kinds_that_are_not_polled_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOperation, match="Container"):
        await fetch(FetchStepContainer("image"), None, tmp_path, NOTHING)
