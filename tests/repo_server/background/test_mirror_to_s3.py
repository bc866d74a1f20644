"""Mirrors to S3 and from it: plain dataset folders in a bucket, the same bytes at both ends."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from catalog.mirrors import Direction, NewMirror
from repo_server.config import Tenancy
from storage.open import open_dataset
from storage.s3.location import S3Location
from tests.repo_server.background.test_mirror import add_push, here, runner_of
from tests.repo_server.hosted import LARGE, Hosted, a_chain, hash_of, hosted
from tests.storage.s3.conftest import keys, location, s3_server

__all__ = ["here", "keys", "location", "s3_server"]


@pytest.fixture
async def there(tmp_path: Path) -> AsyncIterator[Hosted]:
    async with hosted(tmp_path / "there", Tenancy.MULTI, run_mirrors=False) as server:
        yield server


async def test_a_dataset_goes_to_s3_and_is_fetched_from_there(
    here: Hosted, there: Hosted, location: S3Location
) -> None:
    builder = a_chain()
    entry = await here.add("weather", builder)
    push_id = await add_push(here, f"{location}/")
    pull_id = await there.catalog.mirrors.add(NewMirror(Direction.PULL, f"{location}/", "weather", "* * * * *"))
    for note in ("first", "second"):
        assert await runner_of(here).run_now(push_id) is None
        in_s3 = open_dataset(f"{location}/weather")
        assert await in_s3.head() == await entry.dataset.head()
        assert await in_s3.objects.read(f"data/{hash_of(LARGE, builder)}") == LARGE
        assert await runner_of(there).run_now(pull_id) is None
        (copy,) = [each async for each in there.repository.iterate()]
        assert await copy.dataset.head() == await entry.dataset.head()
        assert await copy.dataset.objects.read(f"data/{hash_of(LARGE, builder)}") == LARGE
        await entry.dataset.append([builder.info(note)], expected_head=await entry.dataset.head())


async def test_a_bucket_that_is_not_there_is_told_and_tried_again(here: Hosted, location: S3Location) -> None:
    await here.add("weather", a_chain())
    absent = S3Location("no-such-bucket", "mirror", location.endpoint)
    error = await runner_of(here).run_now(await add_push(here, f"{absent}/"))
    assert error is not None
    assert error.startswith("alice/weather: ")
    (mirror,) = await here.catalog.mirrors.list()
    assert mirror.failures == 1
    assert mirror.next_run_at > here.catalog.mirrors._now()
