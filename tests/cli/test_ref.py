"""``odf ref parse`` follows the grammar of the reference."""

from __future__ import annotations

import pytest

from cli.commands.ref import RefForm
from tests.cli.runner import odf
from tests.vectors.load import vectors


def cases(form: str, *, ok: bool) -> list[dict[str, object]]:
    chosen = [case for case in vectors("grammar.json") if case["type"] == form and case["ok"] is ok]
    return [case for case in chosen if not str(case["input"]).startswith("-")]


@pytest.mark.parametrize("form", [form.value for form in RefForm])
def test_texts_of_the_vectors_print_as_the_reference_prints_them(form: str) -> None:
    good = cases(form, ok=True)
    ran = odf("ref", "parse", "--json", "--as", form, *(case["input"] for case in good))
    assert ran.code == 0, ran.stderr
    displayed = [found["readings"][form]["display"] for found in ran.json_lines()]  # type: ignore[index]
    assert displayed == [case.get("display", case["input"]) for case in good]


@pytest.mark.parametrize("form", [form.value for form in RefForm])
def test_texts_outside_the_grammar_are_refused_one_by_one(form: str) -> None:
    bad = [case["input"] for case in cases(form, ok=False)]
    ran = odf("ref", "parse", "--as", form, *bad)
    assert (ran.code, ran.stdout) == (1, b"")
    assert sum(line.startswith("odf: ") for line in ran.stderr.splitlines()) >= len(bad)


def test_a_text_with_several_meanings_shows_all_of_them() -> None:
    assert odf("ref", "parse", "acc/foo").lines == [
        "acc/foo  acc/foo  (DatasetRef: alias, DatasetRefRemote: remote alias, "
        "DatasetRefAny: ambiguous alias, DatasetPushTarget: remote alias)"
    ]


def test_a_text_without_meaning_is_an_error() -> None:
    ran = odf("ref", "parse", "a//b")
    assert (ran.code, ran.stdout) == (1, b"")
    assert "hint: write NAME" in ran.stderr
