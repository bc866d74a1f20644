"""Names of BlockRefs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.block_ref import HEAD, check_block_ref
from opendatafabric.errors import MalformedIdentifier


@pytest.mark.parametrize("name", [HEAD, "staging", "a", "0", "mirror-2", "a" * 64, "a--b", "a-"])
def test_short_names_in_lower_case_are_taken(name: str) -> None:
    assert check_block_ref(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "-a",
        ".lock",
        "Head",
        "HEAD",
        "he ad",
        "head\n",
        "head\0",
        "../head",
        "a/b",
        "a\\b",
        "a.b",
        "a_b",
        "hеad",
        "ｈead",
        "a" * 65,
        "a" * 5_000_000,
    ],
    ids=lambda name: f"{ascii(name)[:16]}-{len(name)}",
)
def test_everything_else_is_refused_in_short_words(name: str) -> None:
    with pytest.raises(MalformedIdentifier) as refused:
        check_block_ref(name)
    assert len(refused.value.message) < 500


@given(st.text(max_size=70))
def test_no_name_that_is_taken_can_leave_its_folder(name: str) -> None:
    try:
        check_block_ref(name)
    except MalformedIdentifier:
        return
    assert name.isascii()
    assert not set(name) & set("./\\\0 ")
