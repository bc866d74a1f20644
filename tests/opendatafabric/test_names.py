"""Names: the grammar of the vectors, case kept and not compared."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.errors import MalformedIdentifier
from opendatafabric.limits import IDENTIFIER_CHARS_MAX
from opendatafabric.names import AccountName, DatasetName, Name, RepoName
from tests.vectors.load import cases

subdomains = st.from_regex(r"[a-zA-Z0-9]{1,5}(-[a-zA-Z0-9]{1,5}){0,2}", fullmatch=True)
hostnames = st.lists(subdomains, min_size=1, max_size=4).map(".".join)
TYPES: dict[str, type[Name]] = {"DatasetName": DatasetName, "AccountName": AccountName, "RepoName": RepoName}
GOOD = [
    pytest.param(kind, *case.values, id=f"{kind} {case.id}")
    for kind in TYPES
    for case in cases("grammar.json", kind, ok=True)
]
BAD = [
    pytest.param(kind, *case.values, id=f"{kind} {case.id}")
    for kind in TYPES
    for case in cases("grammar.json", kind, ok=False)
]


@pytest.mark.parametrize(("kind", "case"), GOOD)
def test_a_name_of_the_vectors_is_read(kind: str, case: dict[str, Any]) -> None:
    name = TYPES[kind](case["input"])
    assert {"name": str(name)} == case["parsed"]
    assert f"{name}" == case["display"]


@pytest.mark.parametrize(("kind", "case"), BAD)
def test_a_bad_name_of_the_vectors_is_refused(kind: str, case: dict[str, Any]) -> None:
    with pytest.raises(MalformedIdentifier, match=kind):
        TYPES[kind](case["input"])


@given(hostnames)
def test_case_is_kept_in_print_and_ignored_in_comparison(text: str) -> None:
    name, upper, lower = DatasetName(text), DatasetName(text.upper()), DatasetName(text.lower())
    assert str(name) == text
    assert name == upper == lower
    assert len({name, upper, lower}) == 1
    assert not name < upper
    assert not name > upper
    assert name <= upper <= lower <= name
    assert name == text.swapcase()


@given(hostnames, hostnames)
def test_names_order_as_their_lower_case_does(one: str, other: str) -> None:
    assert (DatasetName(one) < DatasetName(other)) == (one.lower() < other.lower())
    assert (DatasetName(one) == DatasetName(other)) == (one.lower() == other.lower())
    assert (DatasetName(one) >= DatasetName(other)) == (one.lower() >= other.lower())


def test_a_lookalike_beyond_ascii_is_another_text() -> None:
    assert DatasetName("k") != "\N{KELVIN SIGN}"
    assert DatasetName("I") != "\N{LATIN SMALL LETTER DOTLESS I}"


def test_a_name_is_not_equal_to_what_is_no_text() -> None:
    assert DatasetName("1") != 1
    assert DatasetName("a") != b"a"


@pytest.mark.parametrize(
    "text",
    [
        "foo\n",
        "\nfoo",
        "foo\0",
        "foo\0bar",
        "foo\r\n",
        "ｆｏｏ",
        "fоo",
        "foo․bar",
        "foo‐bar",
        "ſ",
        "foo\u200b",
        "1۲",
        "..",
        "../x",
        "a" * 5_000_000,
        "-" * 5_000_000,
        "a-" * 400,
    ],
    ids=lambda text: f"{ascii(text)[:20]}-{len(text)}",
)
def test_control_characters_and_lookalikes_are_refused(text: str) -> None:
    with pytest.raises(MalformedIdentifier) as refused:
        DatasetName(text)
    assert len(refused.value.message) < 1_000


def test_the_longest_name_is_read_and_one_character_more_is_not() -> None:
    assert len(DatasetName("a" * IDENTIFIER_CHARS_MAX)) == IDENTIFIER_CHARS_MAX
    with pytest.raises(MalformedIdentifier):
        DatasetName("a" * (IDENTIFIER_CHARS_MAX + 1))


@given(hostnames)
def test_a_name_survives_pickling_and_copying_with_its_type(text: str) -> None:
    name = AccountName(text)
    for again in (pickle.loads(pickle.dumps(name)), copy.copy(name), copy.deepcopy(name)):
        assert type(again) is AccountName
        assert str(again) == text
