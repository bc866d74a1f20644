"""Slices are fetched when they are needed, several at once, go on after a cut, and are kept within their room."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

import odf_client
from odf_client import Cache, waiting
from opendatafabric.errors import ObjectNotFound, StorageError
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore
from tests.odf_client.conftest import Beside
from tests.pipeline.reading.histories import A, source, with_past
from tests.storage.http.peer import Peer

MANY = {day: [(A, 1, f"city {day} {number}", number) for number in range(500)] for day in range(2, 7)}


@dataclass
class Web(Peer):
    """A web server over the folder of a dataset, which may break off slices alone."""

    broken: list[int] = field(default_factory=list)

    async def body(self, request: web.Request, data: bytes) -> web.StreamResponse:
        if request.match_info["path"].startswith("data/") and self.broken:
            self.breaks_after = [self.broken.pop(0)]
        return await super().body(request, data)

    def asked_for_slices(self) -> list[str]:
        return [path for _, path, _ in self.requests if path.startswith("data/")]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A dataset of five slices, as a folder."""
    folder = tmp_path_factory.mktemp("many")
    place = folder / "store"
    place.mkdir()
    asyncio.run(with_past(folder, source(), past=MANY, objects=LocalObjectStore(place), refs=LocalRefStore(place)))
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


@pytest.fixture
def peer(files: dict[str, bytes]) -> Web:
    return Web(dict(files))


@pytest.fixture
def url(peer: Web, beside: Beside) -> Iterator[str]:
    server = TestServer(peer.application())
    beside.run(server.start_server())
    yield str(server.make_url("/"))
    beside.run(server.close())


def test_any_web_server_over_a_folder_will_do(url: str, cache: Cache) -> None:
    assert odf_client.open(url, cache=cache).to_arrow().num_rows == 2_500


def test_only_slices_with_wanted_offsets_are_fetched(url: str, peer: Web, cache: Cache) -> None:
    dataset = odf_client.open(url, cache=cache)
    assert peer.asked_for_slices() == []
    assert dataset.to_arrow(["city"], offsets=(499, 500)).num_rows == 2
    assert len(peer.asked_for_slices()) == 2
    assert dataset.tail(3).num_rows == 3
    assert len(peer.asked_for_slices()) == 3


def test_what_was_fetched_is_not_fetched_again_by_whoever_comes_later(url: str, peer: Web, cache: Cache) -> None:
    odf_client.open(url, cache=cache).to_arrow()
    asked = len(peer.requests)
    assert odf_client.open(url, cache=Cache(cache.folder)).to_arrow().num_rows == 2_500
    assert [path for _, path, _ in peer.requests[asked:] if path != "pull"] == ["refs/head"]


def test_a_slice_that_breaks_off_goes_on_where_it_was(url: str, peer: Web, cache: Cache) -> None:
    peer.broken = [2_000, 1_000, 3_000]
    assert odf_client.open(url, cache=cache).to_arrow().num_rows == 2_500
    assert [headers["Range"] for _, path, headers in peer.requests if path.startswith("data/") and "Range" in headers]


def test_after_a_failure_only_what_is_missing_is_fetched(url: str, peer: Web, cache: Cache) -> None:
    dataset = odf_client.open(url, cache=cache)
    missing = next(path for path in peer.files if path.startswith("data/"))
    contents = peer.files.pop(missing)
    with pytest.raises(ObjectNotFound):
        dataset.to_arrow()
    peer.files[missing] = contents
    there = {f"data/{path.name}" for path in cache.folder.glob("*/data/f1620*")}
    peer.requests.clear()
    assert dataset.to_arrow().num_rows == 2_500
    assert set(peer.asked_for_slices()) == {path for path in peer.files if path.startswith("data/")} - there


def test_progress_counts_slices_and_bytes(url: str, peer: Web, cache: Cache) -> None:
    told: dict[str, tuple[int, int | None]] = {}
    odf_client.open(url, cache=cache).to_arrow(progress=lambda label, *done: told.update({label: done}))
    size = sum(len(data) for path, data in peer.files.items() if path.startswith("data/"))
    assert told == {"objects": (5, 5), "bytes": (size, size)}


def test_slices_that_nobody_used_for_long_make_room(url: str, cache: Cache) -> None:
    small = Cache(cache.folder, bytes_max=1)
    odf_client.open(url, cache=small).to_arrow()
    kept = list(cache.folder.glob("*/data/f1620*"))
    assert len(kept) == 5  # they may be in use
    for path in kept:
        os.utime(path, (1, 1))
    assert odf_client.open(url, cache=Cache(cache.folder)).to_arrow(offsets=(0, 0)).num_rows == 1
    for path in kept:
        os.utime(path, (1, 1))
    small.make_room()
    assert list(cache.folder.glob("*/data/f1620*")) == []


def test_a_dataset_may_be_forgotten(url: str, cache: Cache) -> None:
    odf_client.open(url, cache=cache).to_arrow()
    cache.forget(url)
    assert list(cache.folder.iterdir()) == []
    odf_client.open(url, cache=cache)
    cache.clear()
    assert not cache.folder.exists()


def test_a_cache_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be used"):
        Cache(tmp_path / "file" / "cache").dataset_at("http://127.0.0.1/x")


def test_the_cache_lies_where_the_user_keeps_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert Cache().folder == tmp_path / "odf" / "client"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert Cache().folder == Path.home() / ".cache" / "odf" / "client"


def test_many_threads_may_wait_at_once() -> None:
    found: list[int] = []

    async def work(number: int) -> int:
        await asyncio.sleep(0)
        return number

    threads = [threading.Thread(target=lambda n=number: found.append(waiting.wait(work(n)))) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(8))


def test_a_process_that_was_forked_has_a_loop_of_its_own() -> None:
    async def work() -> int:
        return 7

    assert waiting.wait(work()) == 7
    child = os.fork()
    if child == 0:
        os._exit(waiting.wait(work()))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
