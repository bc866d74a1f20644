"""Addresses: which schemes are read, and files by the time they were changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from opendatafabric.errors import AccessDenied, MalformedManifest, NotFound, UnsupportedOperation
from opendatafabric.instant import Instant
from opendatafabric.metadata.sources import (
    EventTimeSourceFromPath,
    EventTimeSourceFromSystemTime,
    FetchStepUrl,
    RequestHeader,
)
from pipeline.fetch import FetchOptions, fetch
from pipeline.fetch.fetched import LAST_MODIFIED, state_of

NOTHING = FetchOptions()


async def test_a_file_is_new_when_its_time_of_change_is(tmp_path: Path) -> None:
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


async def test_the_event_time_can_be_left_to_the_system(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.touch()
    step = FetchStepUrl(file.as_uri(), event_time=EventTimeSourceFromSystemTime())
    found = await fetch(step, None, tmp_path, NOTHING)
    assert found is not None
    assert found.event_time is None


async def test_a_file_that_is_not_there_is_said_to_be_so(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="nowhere"):
        await fetch(FetchStepUrl((tmp_path / "nowhere").as_uri()), None, tmp_path, NOTHING)


@pytest.mark.parametrize("url", ["ftps://127.0.0.1/x", "s3://b/x", "data.csv"])
async def test_other_schemes_are_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOperation, match="scheme"):
        await fetch(FetchStepUrl(url), None, tmp_path, NOTHING)


@pytest.mark.parametrize("url", ["http://[::1/x", "http://host:port/x"])
async def test_what_is_no_address_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(MalformedManifest, match="no URL"):
        await fetch(FetchStepUrl(url), None, tmp_path, NOTHING)


async def test_a_file_takes_no_headers(tmp_path: Path) -> None:
    step = FetchStepUrl(tmp_path.as_uri(), headers=(RequestHeader("X", "y"),))
    with pytest.raises(UnsupportedOperation, match="headers"):
        await fetch(step, None, tmp_path, NOTHING)


async def test_an_address_has_no_time_in_its_path(tmp_path: Path) -> None:
    step = FetchStepUrl("file:///2020-01-01", EventTimeSourceFromPath("(.*)"))
    with pytest.raises(UnsupportedOperation, match="path"):
        await fetch(step, None, tmp_path, NOTHING)


async def test_what_is_no_plain_file_is_not_read(tmp_path: Path) -> None:
    for path in (tmp_path, Path("/dev/zero")):
        with pytest.raises(UnsupportedOperation, match="no file"):
            await fetch(FetchStepUrl(path.as_uri()), None, tmp_path, NOTHING)


@pytest.mark.parametrize("url", ["file://elsewhere/etc/passwd", "file:///a%00b"])
async def test_files_of_nowhere_are_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises((UnsupportedOperation, NotFound)):
        await fetch(FetchStepUrl(url), None, tmp_path, NOTHING)


async def test_strangers_get_no_file_of_this_machine(tmp_path: Path) -> None:
    with pytest.raises(AccessDenied, match="/etc/passwd"):
        await fetch(FetchStepUrl("file:///etc/passwd"), None, tmp_path, FetchOptions(private_places=False))
