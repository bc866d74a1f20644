"""Files of a folder, in the order of their names or of the times in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from opendatafabric.errors import AccessDenied, MalformedManifest, MalformedSource, NotFound, UnsupportedOperation
from opendatafabric.metadata.slices import SourceState
from opendatafabric.metadata.sources import (
    EventTimeSourceFromMetadata,
    EventTimeSourceFromPath,
    EventTimeSourceFromSystemTime,
    FetchStepFilesGlob,
    ReadStepCsv,
    SourceCachingForever,
    SourceOrdering,
)
from pipeline.fetch import FetchOptions, fetch
from pipeline.fetch.fetched import ETAG, state_of
from tests.pipeline.polling import poller

NOTHING = FetchOptions()


@pytest.fixture
def step(tmp_path: Path) -> FetchStepFilesGlob:
    """Three files by their day."""
    for name in ("d-2020-01-02.csv", "d-2020-01-01.csv", "d-2020-01-03.csv", "other.txt"):
        (tmp_path / name).touch()
    pattern = EventTimeSourceFromPath(r"d-(\d+-\d+-\d+)\.csv")
    return FetchStepFilesGlob(str(tmp_path / "d-*.csv"), event_time=pattern)


async def test_files_come_by_name_one_at_a_time(step: FetchStepFilesGlob, tmp_path: Path) -> None:
    state, names = None, []
    while (found := await fetch(step, state, tmp_path, NOTHING)) is not None:
        state = found.state
        names.append((found.file.name, str(found.event_time), found.has_more))
    assert names == [
        ("d-2020-01-01.csv", "2020-01-01T00:00:00Z", True),
        ("d-2020-01-02.csv", "2020-01-02T00:00:00Z", True),
        ("d-2020-01-03.csv", "2020-01-03T00:00:00Z", False),
    ]


async def test_no_file_is_an_error_only_at_the_first_time(tmp_path: Path) -> None:
    step = FetchStepFilesGlob(str(tmp_path / "*.csv"))
    with pytest.raises(NotFound):
        await fetch(step, None, tmp_path, NOTHING)
    assert await fetch(step, state_of(ETAG, "a.csv"), tmp_path, NOTHING) is None


async def test_a_name_without_its_time_is_named(tmp_path: Path) -> None:
    (tmp_path / "d-x.csv").touch()
    step = FetchStepFilesGlob(str(tmp_path / "*.csv"), event_time=EventTimeSourceFromPath(r"d-(\d+)"))
    with pytest.raises(MalformedSource, match=r"d-x\.csv"):
        await fetch(step, None, tmp_path, NOTHING)


async def all_names(step: FetchStepFilesGlob, folder: Path, state: SourceState | None = None) -> list[str]:
    """The files of one poll after another."""
    names = []
    while (found := await fetch(step, state, folder, NOTHING)) is not None:
        state = found.state
        names.append(found.file.name)
    return names


def by_time(folder: Path, form: str = "%d.%m.%Y") -> FetchStepFilesGlob:
    """The files of a folder by the day in front of their names."""
    source = EventTimeSourceFromPath(r"^(\d+\.\d+\.\d+)", form)
    return FetchStepFilesGlob(str(folder / "*.csv"), source, order=SourceOrdering.BY_EVENT_TIME)


async def test_files_may_come_by_the_time_in_their_names(tmp_path: Path) -> None:
    for name in ("03.01.2020.csv", "01.02.2020.csv", "02.01.2020.csv", "02.01.2020 again.csv"):
        (tmp_path / name).touch()
    assert await all_names(by_time(tmp_path), tmp_path) == [
        "02.01.2020 again.csv",
        "02.01.2020.csv",
        "03.01.2020.csv",
        "01.02.2020.csv",
    ]


async def test_by_time_a_poll_goes_on_behind_the_last_file_even_if_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "01.02.2020.csv").touch()
    assert await all_names(by_time(tmp_path), tmp_path, state_of(ETAG, "31.01.2020.csv")) == ["01.02.2020.csv"]
    assert await all_names(by_time(tmp_path), tmp_path, state_of(ETAG, "02.02.2020.csv")) == []


async def test_no_order_by_a_time_that_files_do_not_have(tmp_path: Path) -> None:
    step = FetchStepFilesGlob(str(tmp_path / "*"), EventTimeSourceFromSystemTime(), order=SourceOrdering.BY_EVENT_TIME)
    with pytest.raises(UnsupportedOperation, match="no order"):
        await fetch(step, None, tmp_path, NOTHING)


async def test_a_file_has_no_metadata_to_take_its_time_from(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOperation, match="metadata"):
        await fetch(FetchStepFilesGlob(str(tmp_path / "*"), EventTimeSourceFromMetadata()), None, tmp_path, NOTHING)


async def test_the_event_time_can_be_left_to_the_system(tmp_path: Path) -> None:
    (tmp_path / "2020-01-01.csv").touch()
    step = FetchStepFilesGlob(str(tmp_path / "*.csv"), EventTimeSourceFromSystemTime(), SourceCachingForever())
    found = await fetch(step, None, tmp_path, NOTHING)
    assert found is not None
    assert found.event_time is None


@pytest.mark.parametrize(
    ("name", "pattern", "form", "time"),
    [
        ("20200102T030405.csv", r"(\d+T\d+)", "%Y%m%dT%H%M%S", "2020-01-02T03:04:05Z"),
        ("a 2020-01-02 03:04.csv", r"(?i)A (.*)\.csv", "%F %R", "2020-01-02T03:04:00Z"),
        ("2020-01-02T03:04:05+02:00", "(?P<time>.*)", "%FT%T%:z", "2020-01-02T01:04:05Z"),
        ("log-1577934245.gz", r"-(\d+)\.", "%s", "2020-01-02T03:04:05Z"),
    ],
)
async def test_times_are_read_in_the_formats_of_the_reference(
    tmp_path: Path, name: str, pattern: str, form: str, time: str
) -> None:
    (tmp_path / name).touch()
    step = FetchStepFilesGlob(str(tmp_path / "*"), EventTimeSourceFromPath(pattern, form))
    found = await fetch(step, None, tmp_path, NOTHING)
    assert found is not None
    assert str(found.event_time) == time


@pytest.mark.parametrize("pattern", ["(", r"\d+", r"(?<=x)(\d)"])
async def test_a_pattern_that_is_none_is_refused(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "2020").touch()
    step = FetchStepFilesGlob(str(tmp_path / "*"), EventTimeSourceFromPath(pattern))
    with pytest.raises(MalformedManifest):
        await fetch(step, None, tmp_path, NOTHING)


async def test_a_hostile_pattern_is_matched_in_linear_time(tmp_path: Path) -> None:
    (tmp_path / ("a" * 200)).touch()
    step = FetchStepFilesGlob(str(tmp_path / "*"), EventTimeSourceFromPath("(a+)+b"))
    with pytest.raises(MalformedSource):
        await fetch(step, None, tmp_path, NOTHING)


async def test_strangers_get_no_files_of_this_machine(tmp_path: Path) -> None:
    with pytest.raises(AccessDenied):
        await fetch(FetchStepFilesGlob("/etc/*"), None, tmp_path, FetchOptions(private_places=False))


async def test_a_polled_folder_from_its_first_day_to_its_last(tmp_path: Path) -> None:
    watched = tmp_path / "watched"
    watched.mkdir()
    step = FetchStepFilesGlob(str(watched / "*.csv"), EventTimeSourceFromPath("(.*).csv"))
    polled = await poller(tmp_path, step, ReadStepCsv(schema=("n INT",)))
    with pytest.raises(NotFound):
        await polled.poll()
    for day in (1, 2):
        (watched / f"2020-01-0{day}.csv").write_text(f"{day}\n")
    await polled.die_in_the_middle()
    assert len(await polled.poll()) == 2
    head = await polled.head()
    assert (await polled.poll(), await polled.head()) == ([], head)
    (watched / "2020-01-03.csv").write_text("3\n")
    assert len(await polled.poll()) == 1
    assert await polled.records("n") == [(1,), (2,), (3,)]
    for file in watched.iterdir():
        file.unlink()
    watched.rmdir()
    assert await polled.poll() == []
