"""Signatures of events, and logs decoded by them."""

from __future__ import annotations

import pyarrow as pa
import pytest
from eth_abi.abi import encode

from opendatafabric.errors import MalformedManifest, MalformedSource, UnsupportedOperation
from pipeline.fetch.ethereum.event_signature import parse_event

TRANSFER = "Transfer(address indexed from, address indexed to, uint256 value)"


@pytest.mark.parametrize(
    ("signature", "selector"),
    [
        (TRANSFER, "ddf252ad"),
        (f"event {TRANSFER};", "ddf252ad"),
        ("Transfer(address,address,uint)", "ddf252ad"),
        ("Deposit(address indexed dst, uint wad)", "e1fffcc4"),
    ],
)
def test_the_selector_is_the_hash_of_the_canonical_form(signature: str, selector: str) -> None:
    assert parse_event(signature).selector.hex().startswith(selector)


def test_indexed_parameters_come_first() -> None:
    event = parse_event("E(uint256 a, bool indexed b, int64 c)")
    assert event.arrow == pa.struct(
        [pa.field("b", pa.bool_(), False), pa.field("a", pa.string(), False), pa.field("c", pa.int64(), False)]
    )


@pytest.mark.parametrize(
    ("kind", "given", "value", "arrow"),
    [
        ("bool", True, True, pa.bool_()),
        ("uint64", 2**64 - 1, 2**64 - 1, pa.uint64()),
        ("int64", -(2**63), -(2**63), pa.int64()),
        ("uint8", 255, 255, pa.uint64()),
        ("int128", -(2**127), str(-(2**127)), pa.string()),
        ("uint256", 2**256 - 1, str(2**256 - 1), pa.string()),
        ("address", "0x" + "ab" * 20, bytes([0xAB] * 20), pa.binary(20)),
        ("bytes", b"\x00\xff", b"\x00\xff", pa.binary()),
        ("bytes4", b"abcd", b"abcd", pa.binary(4)),
        ("string", "héllo", "héllo", pa.string()),
    ],
)
def test_values_become_columns(kind: str, given: object, value: object, arrow: pa.DataType) -> None:
    event = parse_event(f"E({kind} x)")
    assert event.decoded([event.selector], encode([kind], [given])) == {"x": value}
    assert event.arrow.field(0).type == arrow


def test_of_an_indexed_text_only_the_hash_is_known() -> None:
    event = parse_event("E(string indexed x)")
    assert event.decoded([event.selector, bytes(32)], b"") == {"x": bytes(32)}
    assert event.arrow.field(0).type == pa.binary(32)


def test_parameters_without_names_are_counted() -> None:
    assert [field.name for field in parse_event("E(bool,bool b,bool)").arrow] == ["arg0", "b", "arg2"]


@pytest.mark.parametrize("data", [b"", bytes(31), bytes([1] * 32)])
def test_a_log_that_is_none_of_the_event_is_refused(data: bytes) -> None:
    event = parse_event("E(bool x)")
    with pytest.raises(MalformedSource):
        event.decoded([event.selector], data)


def test_a_log_with_other_topics_is_refused() -> None:
    event = parse_event(TRANSFER)
    with pytest.raises(MalformedSource, match="topics"):
        event.decoded([event.selector], bytes(96))


@pytest.mark.parametrize(
    "signature",
    [
        "", "E", "E(", "E()x", "1E()", "E(bool a, bool a)", "E(" + "bool," * 9_000 + "bool)",
        "E(bool indexed a, bool indexed b, bool indexed c, bool indexed d)",
    ],
)  # fmt: skip
def test_what_is_no_signature_is_refused(signature: str) -> None:
    with pytest.raises(MalformedManifest):
        parse_event(signature)


@pytest.mark.parametrize("kind", ["uint7", "uint264", "bytes33", "bytes0", "uint256[]", "mapping", "function", ""])
def test_types_that_become_no_column_are_refused(kind: str) -> None:
    with pytest.raises((UnsupportedOperation, MalformedManifest)):
        parse_event(f"E({kind} x, bool y)")
