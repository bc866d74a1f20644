"""DAG-CBOR: the strict form only, as libipld has it."""

from __future__ import annotations

from typing import Any

import libipld
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.errors import LimitExceeded, MalformedDag
from opendatafabric.ipfs.cid import Cid, cid_of_block
from opendatafabric.ipfs.dag_cbor import decode_dag_cbor, encode_dag_cbor
from opendatafabric.limits import CBOR_DEPTH_MAX, CBOR_VALUES_MAX
from tests.opendatafabric.ipfs.test_cid import cids
from tests.strategies import edited, texts

plain = st.none() | st.booleans() | st.integers(-(2**64), 2**64 - 1) | st.binary(max_size=300) | texts
values = st.recursive(
    plain | cids.filter(lambda cid: cid.version == 1),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(texts, inner, max_size=30),
    max_leaves=40,
)


@given(values)
def test_a_value_is_read_as_it_was_written(value: Any) -> None:
    assert decode_dag_cbor(encode_dag_cbor(value)) == value


@given(st.recursive(plain.filter(lambda v: not isinstance(v, int) or -(2**63) <= v < 2**63), st.lists, max_leaves=20))
def test_another_implementation_writes_the_same(value: Any) -> None:
    assert encode_dag_cbor(value) == libipld.encode_dag_cbor(value)


@given(st.dictionaries(texts, st.integers(0, 30), max_size=20))
def test_keys_are_ordered_as_another_implementation_orders_them(value: dict[str, int]) -> None:
    assert encode_dag_cbor(value) == libipld.encode_dag_cbor(value)


@given(values.flatmap(lambda value: edited(encode_dag_cbor(value))) | st.binary(max_size=30))
def test_what_is_read_at_all_is_written_again_as_the_same_bytes(data: bytes) -> None:
    try:
        value = decode_dag_cbor(data)
    except (MalformedDag, LimitExceeded):
        return
    assert encode_dag_cbor(value) == data


@pytest.mark.parametrize(
    "data",
    [
        "",
        "1800",
        "190001",
        "9fff",
        "5f4100ff",
        "bf6161f6ff",
        "fb3ff0000000000000",
        "f93c00",
        "f7",
        "e0",
        "c100",
        "d82a00",
        "d82a4100",
        "d82a420055",
        "a2616200616100",
        "a2616100616100",
        "a10000",
        "61ff",
        "62",
        "820100ff",
        "9b7fffffffffffffff",
        "0000",
    ],
)
def test_what_is_not_strict_is_refused(data: str) -> None:
    with pytest.raises((MalformedDag, LimitExceeded)):
        decode_dag_cbor(bytes.fromhex(data))


def test_nesting_is_bounded() -> None:
    assert decode_dag_cbor(b"\x81" * CBOR_DEPTH_MAX + b"\x00")
    with pytest.raises(LimitExceeded, match="too deep"):
        decode_dag_cbor(b"\x81" * (CBOR_DEPTH_MAX + 1) + b"\x00")


def test_the_number_of_values_is_bounded() -> None:
    count = CBOR_VALUES_MAX - 1
    assert decode_dag_cbor(encode_dag_cbor([0] * count)) == [0] * count
    with pytest.raises(LimitExceeded, match="too long"):
        decode_dag_cbor(encode_dag_cbor([0] * CBOR_VALUES_MAX))


def test_a_cid_is_tag_42() -> None:
    cid = cid_of_block(b"odf")
    assert encode_dag_cbor(cid).hex().startswith("d82a582500")
    assert isinstance(decode_dag_cbor(encode_dag_cbor(cid)), Cid)


def test_a_number_beyond_64_bits_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="no number"):
        encode_dag_cbor(2**64)
