"""Results of full runs are kept; a quick look leaves them alone, and so do runs of other questions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import harness
from benchmarks.harness import Question, Way, keep, main


def counting(quick: bool) -> Question:
    return Question("Counting", "number", [Way("sum", lambda: sum(range(10 if quick else 1_000)))])


def sorting(quick: bool) -> Question:
    return Question("Sorting", "number", [Way("sorted", lambda: sorted(range(10 if quick else 1_000)))])


def run(monkeypatch: pytest.MonkeyPatch, folder: Path, *arguments: str) -> list[str]:
    """The titles of the results that are kept afterwards."""
    monkeypatch.setattr(harness, "RESULTS", folder)
    monkeypatch.setattr("sys.argv", ["numbers.py", "--rounds", "1", *arguments])
    main(counting, sorting)
    file = folder / "numbers.json"
    return [each["title"] for each in json.loads(file.read_text())] if file.exists() else []


@pytest.mark.slow
def test_a_quick_look_keeps_no_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, tmp_path, "--quick") == []
    assert run(monkeypatch, tmp_path) == ["Counting", "Sorting"]


def test_one_question_is_asked_by_a_word_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, tmp_path, "--only", "sort") == ["Sorting"]


def test_results_of_questions_that_were_not_asked_stay(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    keep(file, [{"title": "one", "is": 1}, {"title": "two", "is": 2}])
    keep(file, [{"title": "one", "is": 3}], are_all=False)
    assert json.loads(file.read_text()) == [{"title": "one", "is": 3}, {"title": "two", "is": 2}]
    keep(file, [{"title": "two", "is": 4}])
    assert json.loads(file.read_text()) == [{"title": "two", "is": 4}]
