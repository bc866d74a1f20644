"""Files sent to a real server to be ingested: in pieces, over a line that breaks, once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from opendatafabric.errors import (
    AccessDenied,
    AuthenticationRequired,
    DatasetNotFound,
    MalformedSource,
    PeerUnavailable,
    UnsupportedOperation,
)
from opendatafabric.metadata.events import AddData
from pipeline.push_sources import FORMATS, format_of_media_type, media_type_of_format
from repo_server.config import Tenancy
from storage import backoff
from sync import send_file
from sync.send_file import FileToSend, ingest_at_server
from tests.pipeline.datasets import blocks_of
from tests.repo_server.hosted import Hosted, hosted
from tests.repo_server.ingested import CSV, add_root, engine_without_spark

pytestmark = pytest.mark.slow


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Hosted]:
    async with hosted(tmp_path, Tenancy.MULTI, engine=engine_without_spark(tmp_path / "engine")) as running_server:
        yield running_server


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cities.csv"
    path.write_bytes(CSV)
    return path


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    path = tmp_path / "empty.csv"
    path.touch()
    return path


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    path = tmp_path / "wrong.csv"
    path.write_bytes(b"city,population\nkyiv,many\n")
    return path


@dataclass
class BreakingLine:
    """A session whose line breaks after requests like those in ``breaks`` (a method, or a part of a path) in turn."""

    inner: aiohttp.ClientSession
    breaks: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def request(self, method: str, url: Any, **arguments: Any) -> Any:
        self.asked.append(method)
        asked = self.inner.request(method, url, **arguments)
        if self.breaks and self.breaks[0] in f"{method} {url.path}":
            self.breaks.pop(0)
            return _Broken(asked)
        return asked


@dataclass
class _Broken:
    """The server gets the request; its answer is lost."""

    asked: Any

    async def __aenter__(self) -> None:
        async with self.asked as response:
            await response.read()
        raise aiohttp.ServerDisconnectedError

    async def __aexit__(self, *_: object) -> None:
        pass


async def send(server: Hosted, file: Path, *, name: str = "cities", who: str | None = "alice", **how: Any) -> Any:
    session = how.pop("session", server.session)
    progress = how.pop("on_progress", lambda *_: None)
    given, token = FileToSend(file, **how), None if who is None else server.tokens[who]
    return await ingest_at_server(
        session, f"{server.url}{server.path(name)}/", given, token=token, on_progress=progress
    )


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "WAIT_S_MAX", 0.0)
    monkeypatch.setattr(backoff, "ASKED_WAIT_S_MAX", 0.0)


async def test_a_file_enters_and_the_answer_is_the_servers(server: Hosted, file: Path) -> None:
    dataset = await add_root(server)
    told: list[tuple[str, int, int | None]] = []
    answer = await send(server, file, on_progress=lambda *step: told.append(step))
    assert answer["newHead"] == str(await dataset.head())
    assert told == [("bytes", len(CSV), len(CSV))]


async def test_it_goes_in_pieces_and_on_where_it_was_cut(
    server: Hosted, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(send_file, "UPLOAD_PIECE_BYTES", 10)
    dataset = await add_root(server)
    line = BreakingLine(server.session, ["PATCH", "PATCH", "HEAD"])
    assert (await send(server, file, session=line))["rows"]["read"] == 2
    assert line.asked.count("PATCH") == -(-len(CSV) // 10)
    assert isinstance((await blocks_of(dataset))[-1].event, AddData)


async def test_an_answer_that_was_lost_is_asked_for_again_and_nothing_enters_twice(server: Hosted, file: Path) -> None:
    dataset = await add_root(server)
    answer = await send(server, file, session=BreakingLine(server.session, ["prepare", "ingest", "ingest"]))
    assert answer["newHead"] == str(await dataset.head())
    assert sum(isinstance(block.event, AddData) for block in await blocks_of(dataset)) == 1


async def test_an_empty_file_is_one(server: Hosted, file: Path, empty: Path) -> None:
    await add_root(server)
    await send(server, file)
    assert not (await send(server, empty))["changed"]


async def test_a_line_that_never_holds_is_told(server: Hosted, file: Path) -> None:
    await add_root(server)
    with pytest.raises(PeerUnavailable):
        await send(server, file, session=BreakingLine(server.session, ["PATCH", "HEAD"] * 9))


async def test_what_the_server_refuses_is_the_same_error_here(server: Hosted, wrong: Path) -> None:
    await add_root(server)
    with pytest.raises(MalformedSource, match="line 2"):
        await send(server, wrong)


@pytest.mark.parametrize(
    ("who", "name", "error"),
    [(None, "cities", AuthenticationRequired), ("bob", "cities", AccessDenied), ("alice", "none", DatasetNotFound)],
)
async def test_who_may_not_is_told_why(
    server: Hosted, file: Path, who: str | None, name: str, error: type[Exception]
) -> None:
    await add_root(server)
    with pytest.raises(error):
        await send(server, file, who=who, name=name)


async def test_source_format_and_time_go_with_it(server: Hosted, file: Path) -> None:
    await add_root(server)
    how = {"source_name": "default", "media_type": "text/csv", "event_time": "2020-01-01T00:00:00Z"}
    assert (await send(server, file, **how))["watermark"] == how["event_time"]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_a_media_type(name: str) -> None:
    assert format_of_media_type(media_type_of_format(name)) == name


def test_an_unknown_format_has_none() -> None:
    with pytest.raises(UnsupportedOperation):
        media_type_of_format("xls")
