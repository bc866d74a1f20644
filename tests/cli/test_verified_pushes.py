"""What is pushed to a server is verified there and signed, by whichever of its workers, without another command."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from catalog.catalog import open_catalog
from catalog.jobs import VERIFY, JobId
from cli.attestations import Trust, judged
from opendatafabric.names import AccountName
from pipeline.worker_client import WorkerClient
from repo_server.config import Settings, Tenancy
from storage.open import open_dataset
from storage.repository import Repository
from sync.push import push_dataset
from sync.remote import parse_remote
from sync.transfer import TransferOptions
from tests.repo_server.hosted import Hosted, a_chain, hosted
from tests.repo_server.served import served
from tests.source_tree import ROOT
from verify.report import Verdict

WEATHER, FAHRENHEIT = "us.noaa.seattle-weather", "seattle-weather.fahrenheit"
DEADLINE_S = 300
EXAMPLES = ROOT / "examples" / "datasets"


async def push(folder: Path, url: str, token: str) -> None:
    async with aiohttp.ClientSession() as session:
        target, options = parse_remote(url), TransferOptions(visibility="Public")
        await push_dataset(session, open_dataset(str(folder)), target, token=token, options=options)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Hosted]:
    """Where nobody works, but what is pushed is to be verified."""
    async with hosted(tmp_path, Tenancy.MULTI, run_worker=False, verify_pushed=True) as running:
        yield running


async def test_the_first_push_has_a_dataset_verified_with_the_rights_of_whoever_pushes(server: Hosted) -> None:
    target = f"odf+{server.url}{server.path('weather')}"
    await push(EXAMPLES / WEATHER, target, server.tokens["alice"])
    (scheduled,) = await server.catalog.schedules.list(VERIFY)
    assert (scheduled.schedule.on_change, scheduled.foreign) == (True, True)
    job = await server.catalog.jobs.claim_due([VERIFY], "worker", lease_s=60)
    assert job is not None
    assert job.account_id == server.accounts["alice"].id


async def test_what_was_there_before_is_left_as_its_owner_wants_it(server: Hosted) -> None:
    entry = await server.add("here", a_chain(1))
    assert await server.catalog.schedules.find(JobId(VERIFY, entry.id)) is None


@contextmanager
def a_worker(repository: Path, environment: dict[str, str]) -> Iterator[None]:
    """A worker on another machine, as it were."""
    command = [sys.executable, "-m", "cli.main", "worker", "--repo", str(repository)]
    with subprocess.Popen(command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()
            process.wait()


@asynccontextmanager
async def ended_spark(place: Path) -> AsyncIterator[None]:
    """The Spark worker at ``place`` ends with the test that needed it."""
    try:
        yield
    finally:
        await WorkerClient(place, Settings().spark_worker_options).end()


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
async def test_a_derivative_that_is_pushed_is_verified_and_signed_without_another_command(
    tmp_path: Path, java_and_pyspark: None
) -> None:
    repository = tmp_path / "r"
    Repository.init(repository)
    environment = {"ODF_VERIFY_PUSHED": "true", "ODF_SPARK_PLACE": str(tmp_path / "spark")}
    async with open_catalog(Settings(repo=repository).database_url) as catalog:
        alice = await catalog.accounts.create(AccountName("alice"))
        token = await catalog.tokens.create(alice)
    async with ended_spark(tmp_path / "spark"), served(repository, **environment) as server:
        with a_worker(repository, environment):
            for name in (WEATHER, FAHRENHEIT):
                await push(EXAMPLES / name, f"odf+{server.address}/alice/{name}", token)
            told = await until_replayed(f"{server.address}/alice/{FAHRENHEIT}")
        (tmp_path / "told.json").write_bytes(told)
        of = f"{server.address}/alice/{FAHRENHEIT}/"
        judgement = await judged([str(tmp_path / "told.json")], Trust([], [server.address], 1), of, ".")
    assert judgement.agreed.verdict is Verdict.VALID


async def until_replayed(url: str) -> bytes:
    """What is told of the dataset once its steps were repeated and found valid."""
    deadline = time.monotonic() + DEADLINE_S
    async with aiohttp.ClientSession() as session:
        while time.monotonic() < deadline:
            async with session.get(f"{url}/attestations") as response:
                raw, told = await response.read(), (await response.json())["attestations"]
            if any(_is_replayed(each) for each in told):
                return raw
            await asyncio.sleep(0.5)
    raise AssertionError(f"there is no verdict: {raw.decode()}")


def _is_replayed(told: dict[str, Any]) -> bool:
    return bool(told["verdict"] == "valid")
