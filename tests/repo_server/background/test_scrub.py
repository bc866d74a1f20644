"""The server reads everything again by itself, heals from its mirrors, writes it down, and goes on after a restart."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from catalog.mirrors import ON_CHANGE, Direction, NewMirror
from opendatafabric.layout import data_key
from repo_server.background import scrub as scrub_job
from repo_server.background.scrub import ScrubPlan, ScrubRunner
from repo_server.config import MetricsAccess, Tenancy
from storage.open import open_dataset
from storage.repository import DatasetEntry
from storage.scrub import Scrubbed
from sync.simple import copy_chain
from sync.transfer import DatasetTarget
from tests.repo_server.hosted import LARGE, SMALL, Hosted, a_chain, hash_of, hosted

pytestmark = pytest.mark.slow

SMALL_KEY, LARGE_KEY = (data_key(hash_of(content, a_chain())) for content in (SMALL, LARGE))
NEVER_AGAIN_S = 10**9


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Hosted]:
    """A server that does not scrub by itself."""
    async with hosted(tmp_path / "here", Tenancy.MULTI, scrub_interval_s=0, metrics_access=MetricsAccess.PUBLIC) as one:
        await one.catalog.scrubs.claim_due("nobody", lease_s=0, first_in_s=-1)
        yield one


def flip(entry: DatasetEntry, key: str) -> None:
    path = entry.folder / key
    path.write_bytes(path.read_bytes()[::-1])


async def copied_to(folder: Path, entry: DatasetEntry) -> Path:
    """A sound copy of the dataset in ``folder``."""
    folder.mkdir(parents=True)  # noqa: ASYNC240
    await copy_chain(entry.dataset, DatasetTarget(open_dataset(str(folder))))
    return folder


def runner(server: Hosted, noted: list[Scrubbed], rate: float | None = None, *sources: str) -> ScrubRunner:
    return ScrubRunner(server.repository, server.catalog, ScrubPlan(NEVER_AGAIN_S, rate, sources), noted.append)


async def trail(server: Hosted) -> list[tuple[str, str, str]]:
    return [(each.action, each.subject, each.details["key"]) for each in await server.catalog.audit.list()]


async def test_a_flipped_bit_is_healed_from_a_mirror_and_written_down(server: Hosted, tmp_path: Path) -> None:
    entry = await server.add("weather", a_chain())
    await copied_to(tmp_path / "mirror" / "weather", entry)
    await server.catalog.mirrors.add(NewMirror(Direction.PUSH, f"file://{tmp_path}/mirror/", "alice/%", ON_CHANGE))
    flip(entry, LARGE_KEY)
    assert await runner(server, []).run_due(server.session)
    assert await entry.dataset.objects.read(LARGE_KEY, size_max=len(LARGE)) == LARGE
    assert await trail(server) == [("healed", "alice/weather", LARGE_KEY)]


async def test_the_settings_name_sound_copies_too(server: Hosted, tmp_path: Path) -> None:
    entry = await server.add("weather", a_chain())
    await copied_to(tmp_path / "copies" / "alice" / "weather", entry)
    (entry.folder / SMALL_KEY).unlink()
    await runner(server, [], None, "ipfs://nowhere/", str(tmp_path / "copies" / "{alias}")).run_due(server.session)
    assert await entry.dataset.objects.read(SMALL_KEY) == SMALL


async def test_a_mirror_on_another_server_heals_and_one_that_is_away_does_not_stand_in_the_way(
    server: Hosted, tmp_path: Path
) -> None:
    entry = await server.add("weather", a_chain())
    async with hosted(tmp_path / "there", Tenancy.MULTI) as there:
        await there.add("weather", a_chain())
        for address in ("http://127.0.0.1:9/alice/", f"odf+{there.url}/alice/"):
            await server.catalog.mirrors.add(NewMirror(Direction.PULL, address, "alice/weather", "* * * * *"))
        flip(entry, LARGE_KEY)
        await runner(server, []).run_due(server.session)
    assert await trail(server) == [("healed", "alice/weather", LARGE_KEY)]


async def test_damage_that_nothing_heals_is_written_down_and_the_rest_is_read(server: Hosted) -> None:
    first, second = await server.add("a", a_chain(1)), await server.add("b", a_chain(2))
    flip(first, SMALL_KEY)
    flip(second, LARGE_KEY)
    assert await runner(server, []).run_due(server.session)
    assert await trail(server) == [("damaged", "alice/b", LARGE_KEY), ("damaged", "alice/a", SMALL_KEY)]


async def test_a_dataset_whose_heads_cannot_be_read_does_not_stop_the_others(server: Hosted) -> None:
    await server.add("a", a_chain(1))
    second = await server.add("b", a_chain(2))
    (second.folder / "refs" / "head").write_text("rotten")
    noted: list[Scrubbed] = []
    assert await runner(server, noted).run_due(server.session)
    assert {done.key for done in noted if done.damage is not None} == {"refs"}


async def test_after_a_stop_it_goes_on_where_it_was(server: Hosted) -> None:
    for number, name in enumerate(("a", "b", "c"), 1):
        await server.add(name, a_chain(number))
    noted: list[Scrubbed] = []
    stopped = asyncio.create_task(runner(server, noted, 200_000.0).run_due(server.session))
    async with asyncio.timeout(30):
        while not any(done.is_object for done in noted):
            await asyncio.wait({stopped}, timeout=0.01)
    stopped.cancel()
    with suppress(asyncio.CancelledError):
        await stopped
    state = await server.catalog.scrubs.state()
    assert state.dataset != ""
    again: list[Scrubbed] = []
    assert await runner(server, again).run_due(server.session)
    objects = [done.key for done in noted + again if done.is_object]
    assert sorted(objects) == sorted([SMALL_KEY, LARGE_KEY] * 3), "each once"


async def test_a_server_that_lost_its_turn_stops(server: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    await server.add("a", a_chain())
    monkeypatch.setattr(scrub_job, "LEASE_S", 0.0)
    monkeypatch.setattr(scrub_job, "KEEP_EVERY_S", 0.05)
    slow = asyncio.create_task(runner(server, [], 1.0).run_due(server.session))
    async with asyncio.timeout(30):
        while await server.catalog.scrubs.claim_due("another", lease_s=60, first_in_s=0) is None:
            await asyncio.wait({slow}, timeout=0.01)
        assert not await slow


async def test_the_server_scrubs_by_itself_and_tells_in_its_metrics(tmp_path: Path) -> None:
    async with hosted(
        tmp_path, Tenancy.MULTI, scrub_interval_s=0.2, scrub_bytes_per_s=1e9, metrics_access=MetricsAccess.PUBLIC
    ) as server:
        entry = await server.add("a", a_chain())
        flip(entry, SMALL_KEY)
        async with asyncio.timeout(60):
            while "odf_scrub_damages_total 0.0" in (text := (await server.ask("GET", "/metrics")).text):
                await asyncio.wait([asyncio.ensure_future(asyncio.to_thread(lambda: None))], timeout=0.01)
        assert "odf_scrub_healed_total 0.0" in text
        assert float(text.partition("\nodf_scrub_bytes_total ")[2].split()[0]) > 0
        assert "odf_scrub_last_end_timestamp_seconds" in text
