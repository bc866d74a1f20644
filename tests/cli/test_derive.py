"""``odf pull`` of derivatives: what would be read, what came of it, inputs first."""

from __future__ import annotations

import asyncio
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from catalog.datasets import DatasetRecord
from catalog.jobs import TRANSFORM, JobId
from catalog.roles import Role
from catalog.run_times import Schedule
from catalog.visibility import Visibility
from cli.catalogs import catalog_of
from cli.datasets import opened_repository
from cli.workers import run_worker
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.names import AccountName
from tests.cli.runner import odf
from tests.pipeline.local_engine import LocalEngine
from tests.source_tree import ROOT

pytestmark = pytest.mark.slow

HOW_TO = ROOT / "docs" / "how-to" / "derive.md"
SOURCES = ROOT / "examples" / "sources"
WEATHER, FAHRENHEIT = "us.noaa.seattle-weather", "seattle-weather.fahrenheit"


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The weather of Seattle, not asked for yet, and what is derived from it. Jobs run in the process of the test."""
    repository = tmp_path / "mine"
    monkeypatch.setenv("ODF_REPO", str(repository))
    odf("init", repository)
    text = (SOURCES / "seattle-weather.yaml").read_text()
    source = (SOURCES / "seattle-weather.csv").as_uri()
    (tmp_path / "weather.yaml").write_text(text.replace("file:///data/seattle-weather.csv", source))
    assert odf("add", tmp_path / "weather.yaml", SOURCES / "weather-f.yaml").code == 0
    engine = LocalEngine(tmp_path / "engine")
    for module in ("cli.transforms", "cli.polls", "cli.commands.ingest"):
        monkeypatch.setattr(f"{module}.spark_worker", lambda _: engine)
    return repository


def test_the_commands_of_the_how_to_derive(mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (snapshot,) = re.findall(r"^```yaml file=alaska.yaml\n(.*?)^```", HOW_TO.read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "alaska.yaml").write_text(snapshot)
    commands, change = re.findall(r"^```sh\n(.*?)^```", HOW_TO.read_text(), re.MULTILINE | re.DOTALL)
    printed = [odf(*shlex.split(line)[1:]) for line in commands.splitlines()]
    assert [(ran.code, ran.stderr) for ran in printed] == [(0, "")] * len(printed)
    _, _, _, planned, first, _, recursive, tail, scheduled = printed
    assert "would read 500 records of airports" in planned.lines[0]
    assert "appended" in first.lines[0]
    assert "airports.of.alaska" in recursive.lines[-1]
    assert "OLD HARBOR" in str(tail.lines)
    assert "computed next at" in scheduled.lines[0]
    assert odf(*shlex.split(change)[1:]).lines == ["airports.of.alaska: up to date"]


def test_a_derivative_on_a_schedule_is_computed_by_the_worker(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.workers.WorkerClient", lambda *_, **__: LocalEngine(mine.parent / "engine"))
    odf("pull", WEATHER)
    assert "computed next at" in odf("schedule", "set", FAHRENHEIT, "0 6 * * *").lines[0]
    assert odf("schedule", "run-now", FAHRENHEIT).code == 0
    odf("worker", "--once")
    found: Any = odf("schedule", "list", "--json").json()[0]  # type: ignore[index]
    assert (found["dataset"], found["lastError"]) == (FAHRENHEIT, None)
    assert found["lastOutcome"] == {"blocks": 1, "read": 1461, "appended": 623, "retracted": 0, "corrected": 0}
    dataset_id = next(row["id"] for row in odf("list", "--json").json() if row["name"] == FAHRENHEIT)  # type: ignore[attr-defined]
    assert odf("schedule", "remove", dataset_id).code == 0
    assert odf("schedule", "list", "--json").json() == []


def test_a_derivative_that_follows_its_inputs_is_computed_when_they_have_news(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cli.workers.WorkerClient", lambda *_, **__: LocalEngine(mine.parent / "engine"))
    assert odf("schedule", "set", FAHRENHEIT, "--on-change").lines[0].endswith("and on every change")
    odf("worker", "--once")
    assert outcome()["blocks"] == 0
    assert "on change" in odf("schedule", "list").lines[1]
    odf("pull", WEATHER)
    odf("worker", "--once")
    assert outcome()["appended"] == 623
    ran_at = listed()["lastRunAt"]
    odf("worker", "--once")
    assert listed()["lastRunAt"] == ran_at


async def test_what_a_stranger_wants_is_computed_from_what_he_may_read_then(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cli.workers.ForeignEngine", lambda _: LocalEngine(mine.parent / "engine"))
    await asyncio.to_thread(odf, "pull", WEATHER)
    async with opened_repository(str(mine)) as repository, catalog_of(str(mine)) as catalog:
        weather, fahrenheit = [await repository.find(DatasetAlias.from_text(name)) for name in (WEATHER, FAHRENHEIT)]
        owner, stranger = [await catalog.accounts.create(AccountName(name)) for name in ("owner", "stranger")]
        await catalog.datasets.put(DatasetRecord(weather.id, weather.alias, owner.id, Visibility.PRIVATE))
        job_id = JobId(TRANSFORM, fahrenheit.id)
        for role in (Role.READER, None):
            await catalog.roles.grant(weather.id, stranger, role)
            await catalog.schedules.set(job_id, Schedule("0 0 1 1 *"), foreign=True, account_id=stranger.id)
            await catalog.jobs.request(job_id)
            await run_worker(str(mine), allowed=(), attached=False, on_ready=lambda: None, once=True)
            found = await catalog.jobs.state(job_id)
            assert found is not None
            assert (found.error is None) is (role is not None), found
        assert found.error is not None
        assert f"input {weather.id} is not here, or not for those" in found.error


def test_the_commands_of_the_how_to_poll_on_a_schedule_for_changes(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "docs" / "how-to" / "poll-on-a-schedule.md").read_text()
    _, commands = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(mine.parent)
    mine.rename("my-repository")
    ran = [odf(*shlex.split(line)[1:]) for line in commands.splitlines()]
    assert [each.lines for each in ran] == [
        [f"{FAHRENHEIT}: computed next at {ran[0].lines[0][-41:-21]}, and on every change"],
        [f"{FAHRENHEIT}: verified next at {ran[1].lines[0][-41:-21]}, and on every change"],
    ]


def test_a_root_follows_nothing_but_may_be_verified_on_every_change(mine: Path) -> None:
    refused = odf("schedule", "set", WEATHER, "--on-change")
    assert (refused.code, "tells of no changes" in refused.stderr) == (3, True)
    assert odf("schedule", "set", WEATHER).code == 3
    assert odf("schedule", "set", WEATHER, "--on-change", "--verify").code == 0
    odf("worker", "--once")
    odf("pull", WEATHER)
    odf("worker", "--once")
    assert (outcome()["verdict"], outcome()["records"]) == ("valid", 1461)


def listed() -> dict[str, Any]:
    """The one schedule that there is."""
    (found,) = odf("schedule", "list", "--json").json()  # type: ignore[misc]
    return dict(found)


def outcome() -> dict[str, Any]:
    """What came of its last run."""
    return dict(listed()["lastOutcome"])


def test_an_input_without_data_is_waited_for(mine: Path) -> None:
    assert odf("pull", "--dry-run", FAHRENHEIT).lines == [f"{FAHRENHEIT}: waits for data of weather"]
    assert odf("pull", FAHRENHEIT).lines == [f"{FAHRENHEIT}: waits for data of weather"]
    assert odf("pull", FAHRENHEIT, "--json").json() == {"name": FAHRENHEIT, "changed": False}


def test_a_dry_run_says_what_would_be_read_and_reads_nothing(mine: Path) -> None:
    odf("pull", WEATHER)
    told = f"{FAHRENHEIT}: would read 1461 records of weather (offsets 0 to 1460)"
    for _ in range(2):
        assert odf("pull", "--dry-run", FAHRENHEIT).lines == [told]
    plan: Any = odf("pull", "--dry-run", FAHRENHEIT, "--json").json()
    assert (plan["name"], plan["due"]) == (FAHRENHEIT, True)
    (planned,) = plan["inputs"]
    assert (planned["alias"], planned["offsets"], planned["after_block"]) == ("weather", [0, 1460], None)
    assert (len(planned["slices"]), planned["watermark"]) == (1, "2015-12-31T00:00:00Z")


def test_inputs_come_first_and_the_second_time_nothing_is_new(mine: Path) -> None:
    ran = odf("pull", "--recursive", FAHRENHEIT, "--json")
    assert ran.code == 0, ran.stderr
    polled, derived, summary = ran.json_lines()
    assert (polled["appended"], derived["read"], derived["appended"]) == (1461, 1461, 623)
    assert derived["watermark"] == "2015-12-31T00:00:00Z"
    assert summary["summary"] == [
        {"name": WEATHER, "state": "changed", "records": 1461, "error": None},
        {"name": FAHRENHEIT, "state": "changed", "records": 623, "error": None},
    ]
    again = odf("pull", "--all")
    assert again.lines[:2] == [f"{WEATHER}: up to date", f"{FAHRENHEIT}: up to date"]
    assert odf("pull", "--dry-run", FAHRENHEIT).lines == [f"{FAHRENHEIT}: up to date"]


def test_a_step_is_made_at_the_time_that_is_given(mine: Path) -> None:
    odf("pull", WEATHER, "--system-time", "2030-01-01T00:00:00Z")
    odf("pull", FAHRENHEIT, "--system-time", "2030-01-02T00:00:00Z")
    logged = odf("log", FAHRENHEIT, "-o", "json").stdout.decode()
    assert "2030-01-02T00:00:00Z" in logged


def test_a_query_that_does_not_hold_is_told_and_changes_nothing(mine: Path, tmp_path: Path) -> None:
    text = (SOURCES / "weather-f.yaml").read_text()
    (tmp_path / "wrong.yaml").write_text(text.replace(FAHRENHEIT, "wrong").replace("temp_max *", "temp_most *"))
    assert odf("add", tmp_path / "wrong.yaml").code == 0  # nobody knows yet which columns there are
    odf("pull", WEATHER)
    ran = odf("pull", "wrong")
    assert ran.code != 0
    assert "the query failed" in ran.stderr
    assert "temp_most" in ran.stderr
    assert len(odf("log", "wrong").lines) == 3


def test_an_engine_elsewhere_is_asked_at_the_address_of_the_settings(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odf("pull", WEATHER)
    monkeypatch.setenv("ODF_ENGINES", '{"datafusion": "127.0.0.1:1"}')
    ran = odf("pull", FAHRENHEIT)
    assert ran.code != 0
    assert "no engine answers at 127.0.0.1:1" in ran.stderr
