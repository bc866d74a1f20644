"""``odf verify`` of derivatives: transforms are repeated, inputs first, and a false row is named."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from storage.dataset import Dataset
from storage.memory import MemoryObjectStore
from tests.cli.runner import odf
from tests.pipeline.local_engine import LocalEngine
from tests.pipeline.transform.derived import Workshop
from tests.source_tree import ROOT
from tests.verify.damage import in_memory
from tests.verify.forge import with_value
from tests.verify.replaying import falsify

DATASETS = ROOT / "examples" / "datasets"
WEATHER, FAHRENHEIT = "us.noaa.seattle-weather", "seattle-weather.fahrenheit"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The weather of Seattle and what is derived from it. Jobs run in the process of the test."""
    engine = LocalEngine(tmp_path / "engine")
    monkeypatch.setattr("cli.verifications.ForeignEngine", lambda _: engine)
    for name in (WEATHER, FAHRENHEIT):
        shutil.copytree(DATASETS / name, tmp_path / "r" / name)
    return tmp_path / "r"


def break_one(folder: Path) -> None:
    """A byte of a slice."""
    file = min((folder / "data").iterdir())
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


async def falsify_on_disk(folder: Path, tmp_path: Path) -> None:
    """Another value in the first slice of a derivative, and every hash after it."""
    dataset, _ = in_memory(folder)
    workshop = Workshop(LocalEngine(tmp_path / "falsifying"), tmp_path, {"large": dataset})
    await falsify(workshop, with_value("temp_max_f", 7, 451.0))
    made: Dataset = workshop.datasets["large"]
    assert isinstance(made.objects, MemoryObjectStore)
    for key, raw in made.objects.objects.items():
        (folder / key).write_bytes(raw)
    (folder / "refs" / "head").write_text(str(await made.head()))


def test_inputs_are_verified_first(repository: Path) -> None:
    ran = odf("verify", "--recursive", FAHRENHEIT, "--repo", repository, "--json")
    reports: Any = ran.json_lines()
    assert (ran.code, [report["name"] for report in reports]) == (0, [WEATHER, FAHRENHEIT])
    assert [step["verdict"] for step in reports[1]["steps"]] == ["valid", "valid"]
    assert "steps" not in reports[0]


def test_without_being_asked_for_inputs_are_read_and_not_verified(repository: Path) -> None:
    ran = odf("verify", FAHRENHEIT, "--repo", repository)
    assert ran.code == 0
    assert [line for line in ran.lines if "valid" in line] == [ran.lines[-1]]
    assert "2 steps repeated" in ran.lines[-1]


def test_the_inputs_of_a_folder_are_looked_for_beside_it(repository: Path) -> None:
    assert odf("verify", repository / FAHRENHEIT).code == 0


def test_all_of_a_repository_is_verified_in_the_order_of_derivation(repository: Path) -> None:
    reports: Any = odf("verify", "--repo", repository, "--json").json_lines()
    assert [report["name"] for report in reports] == [WEATHER, FAHRENHEIT]


def test_a_false_row_that_is_honestly_hashed_is_named(repository: Path, tmp_path: Path) -> None:
    asyncio.run(falsify_on_disk(repository / FAHRENHEIT, tmp_path))
    assert odf("verify", "--integrity-only", repository / FAHRENHEIT).code == 0
    report = tmp_path / "report.xml"
    ran = odf("verify", repository / FAHRENHEIT, "--junit", report)
    assert ran.code == 3
    text = ran.stdout.decode()
    assert "damage [replay-mismatch] block 4: records differ at offset 7 in column 'temp_max_f'" in text
    assert "expected: 451.0" in text
    cases = ElementTree.parse(report).getroot().findall("testsuite/testcase[@classname='transforms']")
    assert len(cases) == 2


def test_what_was_made_of_a_damaged_dataset_is_invalid_too(repository: Path) -> None:
    break_one(repository / WEATHER)
    ran = odf("verify", "--recursive", FAHRENHEIT, "--repo", repository, "--json")
    reports: Any = ran.json_lines()
    assert (ran.code, [report["verdict"] for report in reports]) == (3, ["invalid", "invalid"])
    assert {step["verdict"] for step in reports[1]["steps"]} == {"input-invalid"}


def scheduled(repository: Path) -> dict[str, Any]:
    """The one schedule there is."""
    (found,) = odf("schedule", "list", "--repo", repository, "--json").json()  # type: ignore[misc]
    return dict(found)  # type: ignore[call-overload]


def test_a_worker_verifies_on_a_schedule_and_the_last_verdict_is_listed(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = LocalEngine(tmp_path / "engine")
    monkeypatch.setattr("cli.workers.ForeignEngine", lambda _: engine)
    place = ("--repo", repository)
    set_to = odf("schedule", "set", FAHRENHEIT, "0 3 * * *", "--verify", *place)
    assert "verified next at" in set_to.lines[0]
    for break_it, verdict in ((False, "valid"), (True, "invalid")):
        if break_it:
            break_one(repository / FAHRENHEIT)
        assert odf("schedule", "run-now", FAHRENHEIT, "--verify", *place).code == 0
        assert odf("worker", "--once", *place).code == 0
        found = scheduled(repository)
        assert (found["job"], found["lastError"], found["lastOutcome"]["verdict"]) == ("verify", None, verdict)
    assert "invalid: damage [" in odf("schedule", "list", *place).lines[1]
    assert odf("schedule", "remove", FAHRENHEIT, "--verify", *place).code == 0
    assert odf("schedule", "list", "--json", *place).json() == []


def test_a_derivative_without_its_inputs_is_not_called_valid(repository: Path) -> None:
    shutil.rmtree(repository / WEATHER)
    ran = odf("verify", FAHRENHEIT, "--repo", repository)
    assert ran.code == 1
    assert "unchecked [replay-input-missing]" in ran.stdout.decode()


def test_the_inputs_of_a_folder_elsewhere_are_in_the_given_repository(repository: Path, tmp_path: Path) -> None:
    alone = shutil.copytree(repository / FAHRENHEIT, tmp_path / "alone" / FAHRENHEIT)
    assert odf("verify", alone, "--repo", repository).code == 0
    assert odf("verify", alone, "--repo", tmp_path / "engine").code == 1
