"""Datasets are copied and pushed whole, and go on after a cut; records are ingested; events are heard."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest

import odf_client
from odf_client import Cache, Event
from opendatafabric.errors import (
    AccessDenied,
    AuthenticationRequired,
    ChainsDiverged,
    DatasetNotFound,
    MalformedInput,
    OdfError,
    UnsupportedOperation,
)
from repo_server.config import Tenancy
from storage.repository import Repository
from tests.odf_client.conftest import Beside, Cities, refresh, with_cities
from tests.odf_client.test_opening import CITIES, push_one_more
from tests.repo_server.hosted import Hosted, hosted
from tests.repo_server.ingested import CSV, add_root, engine_without_spark
from tests.source_tree import ROOT

pytestmark = pytest.mark.slow

AIRPORTS = ROOT / "examples" / "datasets" / "us.faa.airports"


def test_a_copy_goes_into_a_folder_or_a_repository(multi: Cities, cache: Cache, tmp_path: Path) -> None:
    dataset = odf_client.open(multi.url, cache=cache)
    alone = dataset.pull(tmp_path / "alone")
    Repository.init(tmp_path / "mine")
    named = dataset.pull(tmp_path / "mine", name="my.cities")
    assert alone.head == named.head == dataset.head
    assert odf_client.open("my.cities", repository=tmp_path / "mine").to_arrow()["city"].to_pylist() == CITIES


def test_a_copy_is_brought_up_to_date(own: Cities, cache: Cache, tmp_path: Path) -> None:
    dataset = odf_client.open(own.url, cache=cache)
    dataset.pull(tmp_path / "copy")
    push_one_more(own)
    told: list[str] = []
    assert dataset.pull(tmp_path / "copy", progress=lambda label, *_: told.append(label)).to_arrow().num_rows == 7
    assert "objects" in told


def test_a_dataset_is_pushed_from_a_folder_and_from_elsewhere(own: Cities, cache: Cache, tmp_path: Path) -> None:
    token = own.server.tokens["alice"]
    airports = odf_client.open(AIRPORTS)
    url = f"{own.server.url}/alice/airports"
    assert airports.push(url, token=token, visibility="public") == airports.head
    again = odf_client.open(url, cache=cache)
    assert again.push(str(tmp_path / "copy")) == airports.head
    assert odf_client.open(tmp_path / "copy").to_arrow().equals(airports.to_arrow())


def test_who_may_not_push_is_told(own: Cities, cache: Cache) -> None:
    dataset = odf_client.open(AIRPORTS)
    url = f"{own.server.url}/alice/airports"
    with pytest.raises(AuthenticationRequired):
        dataset.push(url)
    with pytest.raises((AccessDenied, DatasetNotFound)):
        dataset.push(url, token=own.server.tokens["bob"])


def test_a_push_does_not_replace_what_is_there_unasked(own: Cities, cache: Cache, tmp_path: Path) -> None:
    shorter = odf_client.open(own.url, cache=cache).pull(tmp_path / "copy")
    push_one_more(own)
    with pytest.raises(ChainsDiverged):
        shorter.push(own.url, token=own.server.tokens["alice"])
    assert shorter.push(own.url, token=own.server.tokens["alice"], force=True) == shorter.head
    assert odf_client.open(own.url, cache=cache).head == shorter.head


@pytest.fixture(scope="module")
def engine(beside: Beside, tmp_path_factory: pytest.TempPathFactory) -> Hosted:
    """A server that takes records."""
    folder = tmp_path_factory.mktemp("engine")
    return beside.enter(hosted(folder, Tenancy.MULTI, engine=engine_without_spark(folder / "engine")))


def root(server: Hosted, beside: Beside, cache: Cache, name: str) -> odf_client.Dataset:
    beside.run(add_root(server, name))
    return odf_client.open(server.url + server.path(name), token=server.tokens["alice"], cache=cache)


@pytest.mark.parametrize("form", ["file", "table", "batch", "dicts", "frame"])
def test_records_are_ingested_in_any_form(
    engine: Hosted, beside: Beside, cache: Cache, tmp_path: Path, form: str
) -> None:
    table = pa.table({"city": ["kyiv", "lviv"], "population": [3, 1]})
    (tmp_path / "cities.csv").write_bytes(CSV)
    given = {
        "file": tmp_path / "cities.csv",
        "table": table,
        "batch": table.to_batches()[0],
        "dicts": table.to_pylist(),
        "frame": table.to_pandas(),
    }
    dataset = root(engine, beside, cache, f"cities-{form}")
    done = dataset.ingest(given[form], event_time="2024-01-01T00:00:00Z")
    assert (done.changed, done.read, done.appended) == (True, 2, 2)
    found = dataset.refresh().to_arrow(["city", "population"])
    assert (dataset.head, found.to_pylist()) == (done.head, table.to_pylist())


def test_what_the_source_does_not_take_is_told(engine: Hosted, beside: Beside, cache: Cache) -> None:
    dataset = root(engine, beside, cache, "picky")
    with pytest.raises(OdfError):
        dataset.ingest([{"village": "x"}])
    assert not dataset.refresh().count


def test_records_do_not_enter_folders() -> None:
    with pytest.raises(UnsupportedOperation, match="no server"):
        odf_client.open(AIRPORTS).ingest([{"a": 1}])


class Heard:
    """What a subscription tells, from a thread of its own."""

    def __init__(self, events: Iterator[Event]) -> None:
        self._found: list[Event] = []
        self._news = threading.Condition()
        threading.Thread(target=self._hear, args=(events,), daemon=True).start()

    def _hear(self, events: Iterator[Event]) -> None:
        with suppress(OdfError):  # the server ends with the test
            for event in events:
                with self._news:
                    self._found.append(event)
                    self._news.notify_all()

    def until(self, count: int) -> list[Event]:
        with self._news:
            assert self._news.wait_for(lambda: len(self._found) >= count, 60)
            return list(self._found)


def test_what_happened_since_is_told_and_what_happens(own: Cities, cache: Cache) -> None:
    push_and_note(own)
    heard = Heard(odf_client.Repository(own.server.url).subscribe(since="0"))
    first = heard.until(1)[-1]
    assert (first.dataset, first.data["datasetId"]) == ("alice/cities", odf_client.open(own.url, cache=cache).id)
    push_and_note(own)
    assert heard.until(2)[-1].type == "head-moved"


def push_and_note(cities: Cities) -> None:
    """As another process does: the catalog is told."""
    push_one_more(cities)
    cities.beside.run(refresh(cities))


def test_who_was_cut_off_is_told_what_was_missed(beside: Beside, tmp_path: Path) -> None:
    cities = with_cities(beside, tmp_path, Tenancy.MULTI)
    push_and_note(cities)
    events = odf_client.open(cities.url, cache=Cache(tmp_path / "cache")).subscribe(since="0")
    first = next(events)
    push_and_note(cities)
    events.close()  # type: ignore[attr-defined]
    later = next(odf_client.open(cities.url, cache=Cache(tmp_path / "cache")).subscribe(since=first.id))
    assert int(later.id) > int(first.id)


def test_a_number_that_is_none_is_refused(multi: Cities, cache: Cache) -> None:
    with pytest.raises(OdfError):
        next(odf_client.open(multi.url, cache=cache).subscribe(since="yesterday"))


def test_folders_tell_nothing() -> None:
    with pytest.raises(UnsupportedOperation):
        next(odf_client.open(AIRPORTS).subscribe())


def test_names_of_copies_follow_the_grammar(multi: Cities, cache: Cache, tmp_path: Path) -> None:
    Repository.init(tmp_path / "mine")
    with pytest.raises(MalformedInput):
        odf_client.open(multi.url, cache=cache).pull(tmp_path / "mine", name="not a name")
