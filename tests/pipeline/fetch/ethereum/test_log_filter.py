"""Conditions in SQL as what a node is asked for."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.errors import InvalidQuery, MalformedManifest, OdfError
from pipeline.fetch.ethereum.log_filter import LogFilter, parse_filter

A, B = bytes(20), bytes([1] * 20)
T = bytes([2] * 32)


def hexed(value: bytes) -> str:
    return f"X'{value.hex()}'"


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("block_number = 5", 5, 5),
        ("block_number > 5", 6, None),
        ("block_number >= 5 and block_number < 9", 5, 8),
        ("block_number <= 9", 0, 9),
        ("block_number BETWEEN 3 AND 4", 3, 4),
        ("3 <= block_number", 3, None),
        ("(block_number > 1) AND ((block_number > 2))", 3, None),
        ('"block_number" > 0', 1, None),
    ],
)
def test_ranges_of_blocks_are_met(text: str, first: int, last: int | None) -> None:
    assert parse_filter(text) == LogFilter(first, last)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (f"address = {hexed(A)}", {A}),
        (f"address = 0x{A.hex()}", {A}),
        (f"{hexed(A)} = ADDRESS", {A}),
        (f"address = {hexed(A)} or (address = {hexed(B)} or address = {hexed(A)})", {A, B}),
        (f"address IN ({hexed(A)}, {hexed(B)})", {A, B}),
        (f"address IN ({hexed(A)}, {hexed(B)}) and address = {hexed(B)}", {B}),
    ],
)
def test_values_of_a_column_may_be_several(text: str, values: set[bytes]) -> None:
    assert parse_filter(text) == LogFilter.of_column("address", frozenset(values))


def test_columns_are_joined_by_and() -> None:
    found = parse_filter(f"block_number > 0 and address = {hexed(A)} and topic2 = {hexed(T)}")
    assert found == LogFilter(1) & LogFilter.of_column("address", frozenset({A})) & LogFilter.of_column(
        "topic2", frozenset({T})
    )
    assert found.request(1, 2) == {
        "fromBlock": "0x1",
        "toBlock": "0x2",
        "address": [f"0x{A.hex()}"],
        "topics": [None, None, [f"0x{T.hex()}"]],
    }


def test_an_event_is_found_by_its_selector() -> None:
    found = parse_filter("topic0 = eth_event_selector('Transfer(address indexed from, address indexed to, uint256 v)')")
    transfer = bytes.fromhex("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")
    assert found == LogFilter.of_column("topic0", frozenset({transfer}))


@pytest.mark.parametrize("text", [f"address = {hexed(A)} and address = {hexed(B)}", "block_number < 0",
                                  "block_number > 5 and block_number < 5"])  # fmt: skip
def test_contradictions_match_nothing(text: str) -> None:
    assert parse_filter(text).matches_nothing


def test_a_log_is_taken_if_all_its_columns_are() -> None:
    wanted = LogFilter.of_column("topic1", frozenset({T}))
    assert wanted.takes(A, [A, T])
    assert not wanted.takes(A, [T])


@pytest.mark.parametrize(
    "text",
    [
        "", "block_number", "block_number >", "block_number > 1 and", "(block_number > 1", "block_number > 1)",
        "block_number != 1", "block_number > X'00'", "address > 1", f"address <> {hexed(A)}", "address = X'00'",
        "address = X'0'", "nothing = 1", "data = X'00'", "block_number = 1 or block_number = 2", "1 = 1", "; drop",
        f"address = {hexed(A)} or topic0 = {hexed(T)}", "not block_number = 1", "upper('x') = 1", "1 between 2 and 3",
        f"address = {hexed(A)} or block_number > 1", "(" * 100 + "block_number > 1" + ")" * 100,
        "block_number > " + "9" * 5_000,
        "topic0 = eth_event_selector('Transfer", "address = 'text'", "x" * 200_000, "block_number in ()",
    ],
)  # fmt: skip
def test_what_a_node_cannot_be_asked_is_refused(text: str) -> None:
    with pytest.raises(InvalidQuery):
        parse_filter(text)


def test_a_selector_of_no_event_is_refused() -> None:
    with pytest.raises(MalformedManifest):
        parse_filter("topic0 = eth_event_selector('nothing')")


@given(st.text(alphabet="()=<>, xX'0aband or in between_block_number9", max_size=60))
def test_no_text_does_more_than_be_refused(text: str) -> None:
    with suppress(OdfError):
        parse_filter(text)
