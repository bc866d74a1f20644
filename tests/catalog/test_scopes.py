"""Scopes include each other; patterns say which datasets a token is good for."""

from __future__ import annotations

import fnmatch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.scopes import Scope, covers, parse_patterns, with_included
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import LimitExceeded, MalformedIdentifier
from opendatafabric.limits import TOKEN_DATASETS_MAX
from opendatafabric.names import AccountName, DatasetName

PART = st.text("abAB-.*", min_size=1, max_size=8)
NAME = st.from_regex(r"[abAB]{1,4}(?:[-.][abAB]{1,3}){0,2}", fullmatch=True)


def alias(text: str) -> DatasetAlias:
    return DatasetAlias.from_text(text)


@pytest.mark.parametrize("scope", Scope)
def test_every_scope_is_read_as_it_is_written_and_includes_itself(scope: Scope) -> None:
    assert Scope.from_text(scope.value) is scope
    assert scope in with_included([scope])


def test_managing_includes_pushing_and_that_reading_but_nothing_of_accounts() -> None:
    manage, push, read = Scope.DATASETS_MANAGE, Scope.DATASETS_PUSH, Scope.DATASETS_READ
    assert with_included([manage]) == {manage, push, read}
    assert with_included([push]) == {push, read}
    assert with_included([read]) == {read}
    assert with_included([Scope.ACCOUNTS_MANAGE]) == {Scope.ACCOUNTS_MANAGE}
    assert with_included([Scope.ADMIN]) == set(Scope)


@pytest.mark.parametrize("text", ["", "root", "Admin", "datasets:*", "datasets:read ", "x" * 10_000])
def test_a_scope_that_does_not_exist_is_refused(text: str) -> None:
    with pytest.raises(MalformedIdentifier, match="there is no scope") as caught:
        Scope.from_text(text)
    assert len(caught.value.message) < 200


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("alice/weather", "ALICE/Weather", "alice/weather.old"),
        ("alice/*", "alice/anything", "alice2/anything"),
        ("alice/%", "alice/any-thing", "bob/any-thing"),
        ("alice/net.*", "alice/net.example", "alice/network"),
        ("*-2020", "bob/sales-2020", "bob/sales-2021"),
        ("weather", "bob/weather", "bob/whether"),
    ],
)
def test_a_pattern_covers_whole_names_in_any_case(pattern: str, inside: str, outside: str) -> None:
    patterns = parse_patterns(["nobody/x", pattern])
    assert covers(patterns, alias(inside))
    assert not covers(patterns, alias(outside))


def test_no_pattern_at_all_covers_everything() -> None:
    assert covers(parse_patterns([]), alias("a/b"))


@given(PART, NAME, NAME)
def test_patterns_mean_what_they_mean_to_a_shell(pattern: str, account: str, name: str) -> None:
    try:
        patterns = parse_patterns([f"{account}/{pattern}"])
    except MalformedIdentifier:
        return
    expected = fnmatch.fnmatchcase(name.lower(), pattern.lower())
    assert covers(patterns, DatasetAlias(AccountName(account.swapcase()), DatasetName(name))) is expected


@given(PART, NAME, NAME)
def test_a_pattern_of_one_account_never_covers_another(pattern: str, account: str, name: str) -> None:
    try:
        patterns = parse_patterns([f"{account}/{pattern}"])
    except MalformedIdentifier:
        return
    assert not covers(patterns, DatasetAlias(AccountName(account + "x"), DatasetName(name)))


@given(st.lists(st.text(max_size=30), max_size=5))
def test_whatever_is_given_as_patterns_is_refused_or_can_be_kept_as_one_text(texts: list[str]) -> None:
    try:
        patterns = parse_patterns(texts)
    except MalformedIdentifier:
        return
    assert parse_patterns(" ".join(map(str, patterns)).split()) == patterns


@pytest.mark.parametrize("text", ["", "/", "a/b/c", "*/b", "../b", "a/..", "a b", "a/b c", "\u212aelvin/x"])
def test_what_is_no_pattern_is_refused(text: str) -> None:
    with pytest.raises(MalformedIdentifier):
        parse_patterns([text])


def test_a_token_is_bound_to_so_many_patterns_and_no_more() -> None:
    names = [f"alice/d{number}" for number in range(TOKEN_DATASETS_MAX + 1)]
    assert covers(parse_patterns(names[:-1]), alias(names[0]))
    with pytest.raises(LimitExceeded):
        parse_patterns(names)


def test_a_pattern_of_many_wildcards_is_decided_at_once() -> None:
    patterns = parse_patterns(["a/" + "x*" * 400 + "y"])
    assert not covers(patterns, alias("a/" + "x" * 900))
