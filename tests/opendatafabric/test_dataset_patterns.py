"""Patterns over names: their grammar, and what they match."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.dataset_patterns import (
    AmbiguousPattern,
    DatasetAliasPattern,
    DatasetNamePattern,
    DatasetRefAnyPattern,
    DatasetRefPattern,
    RemotePattern,
    parse_dataset_ref_any_pattern,
    parse_dataset_ref_pattern,
)
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import MalformedIdentifier
from opendatafabric.names import DatasetName
from tests.opendatafabric.reference_parts import any_parts, local_parts, text_of
from tests.opendatafabric.test_names import hostnames
from tests.vectors.load import cases


@pytest.mark.parametrize("case", cases("grammar.json", "DatasetNamePattern", ok=True))
def test_a_name_pattern_of_the_vectors_is_read(case: dict[str, Any]) -> None:
    pattern = DatasetNamePattern(case["input"])
    assert {"pattern": pattern.text} == case["parsed"]
    assert str(pattern) == case["display"]


@pytest.mark.parametrize("case", cases("grammar.json", "DatasetNamePattern", ok=False))
def test_a_bad_name_pattern_of_the_vectors_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(MalformedIdentifier):
        DatasetNamePattern(case["input"])


@pytest.mark.parametrize("case", cases("grammar.json", "DatasetAliasPattern", ok=True))
def test_an_alias_pattern_of_the_vectors_is_read(case: dict[str, Any]) -> None:
    pattern = DatasetAliasPattern.from_text(case["input"])
    assert {"account": text_of(pattern.account), "pattern": str(pattern.pattern)} == case["parsed"]
    assert str(pattern) == case["input"]


@pytest.mark.parametrize("case", cases("grammar.json", "DatasetAliasPattern", ok=False))
def test_a_bad_alias_pattern_of_the_vectors_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(MalformedIdentifier):
        DatasetAliasPattern.from_text(case["input"])


def ref_pattern_parts(found: DatasetRefPattern) -> dict[str, Any]:
    if isinstance(found, DatasetAliasPattern):
        return {"variant": "Pattern", "account": text_of(found.account), "pattern": str(found.pattern)}
    return {"variant": "Ref", "ref": local_parts(found)}


def any_pattern_parts(found: DatasetRefAnyPattern) -> dict[str, Any]:
    match found:
        case DatasetNamePattern(text):
            return {"variant": "PatternLocal", "pattern": text}
        case AmbiguousPattern(first, pattern):
            return {"variant": "PatternAmbiguous", "repo_or_account": str(first), "pattern": str(pattern)}
        case RemotePattern(repo, account, pattern):
            return {"variant": "PatternRemote", "repo": str(repo), "account": str(account), "pattern": str(pattern)}
        case _:
            return {"variant": "Ref", "ref": any_parts(found)}


@pytest.mark.parametrize("case", cases("grammar.json", "DatasetRefPattern", ok=True))
def test_a_reference_pattern_of_the_vectors_is_read(case: dict[str, Any]) -> None:
    found = parse_dataset_ref_pattern(case["input"])
    assert ref_pattern_parts(found) == case["parsed"]
    assert str(found) == case["display"]


@pytest.mark.parametrize("case", cases("grammar.json", "DatasetRefPattern", ok=False))
def test_a_bad_reference_pattern_of_the_vectors_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(MalformedIdentifier):
        parse_dataset_ref_pattern(case["input"])


@pytest.mark.parametrize("case", cases("grammar.json", "DatasetRefAnyPattern", ok=True))
def test_a_pattern_of_any_reference_of_the_vectors_is_read(case: dict[str, Any]) -> None:
    assert any_pattern_parts(parse_dataset_ref_any_pattern(case["input"])) == case["parsed"]


@pytest.mark.parametrize("case", cases("grammar.json", "DatasetRefAnyPattern", ok=False))
def test_a_bad_pattern_of_any_reference_of_the_vectors_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(MalformedIdentifier):
        parse_dataset_ref_any_pattern(case["input"])


@pytest.mark.parametrize("case", cases("grammar.json", "PatternMatches"))
def test_a_pattern_matches_the_names_of_the_vectors(case: dict[str, Any]) -> None:
    found = DatasetNamePattern(case["input"]).matches(DatasetName(case["candidate"]))
    assert {"matches": found} == case["parsed"]


@given(st.text(alphabet="aB1.-%", max_size=12), st.text(alphabet="aAbB1.-", max_size=12))
def test_matching_is_what_a_regular_expression_says(pattern: str, name: str) -> None:
    try:
        read, candidate = DatasetNamePattern(pattern), DatasetName(name)
    except MalformedIdentifier:
        return
    expression = re.escape(pattern).replace("%", ".*")
    assert read.matches(candidate) == (re.fullmatch(expression, name, re.IGNORECASE) is not None)


@given(hostnames, st.data())
def test_a_name_with_any_run_replaced_matches_or_is_no_pattern(name: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(name)))
    end = data.draw(st.integers(start, len(name)))
    try:
        pattern = DatasetNamePattern(f"{name[:start]}%{name[end:]}")
    except MalformedIdentifier:
        return
    assert pattern.matches(DatasetName(name.swapcase()))


def test_start_and_end_may_not_share_characters() -> None:
    assert not DatasetNamePattern("aba%aba").matches(DatasetName("ababa"))
    assert DatasetNamePattern("aba%aba").matches(DatasetName("abaaba"))


def test_an_account_in_a_pattern_is_exact_in_any_case() -> None:
    pattern = DatasetAliasPattern.from_text("Acc/%")
    assert pattern.matches(DatasetAlias.from_text("aCC/foo"))
    assert not pattern.matches(DatasetAlias.from_text("acc2/foo"))
    assert not pattern.matches(DatasetAlias.from_text("foo"))


def test_a_pattern_without_account_matches_names_of_any_account() -> None:
    pattern = DatasetAliasPattern.from_text("f%")
    assert pattern.matches(DatasetAlias.from_text("acc/foo"))
    assert pattern.matches(DatasetAlias.from_text("foo"))


@pytest.mark.timeout(5)
def test_a_pattern_made_to_backtrack_is_decided_at_once() -> None:
    pattern = DatasetNamePattern("%a" * 400 + "%b")
    assert not pattern.matches(DatasetName("a" * 1_000))


@pytest.mark.timeout(5)
@pytest.mark.parametrize(
    "text",
    ["%" * 5_000_000, "a%" * 1_000_000, "%\n", "%\0", "％", "/" * 1_000_000 + "%"],
    ids=lambda text: ascii(text)[:12],
)
def test_hostile_patterns_are_refused(text: str) -> None:
    for read in (DatasetNamePattern, parse_dataset_ref_pattern, parse_dataset_ref_any_pattern):
        with pytest.raises(MalformedIdentifier):
            read(text)
