"""dag-pb: what is written is read, and hostile bytes end in a typed error."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.errors import MalformedDag
from opendatafabric.ipfs.cid import cid_of_block
from opendatafabric.ipfs.dag_pb import Link, Node, decode_node, encode_node
from opendatafabric.ipfs.protobuf import bytes_field, number_field, read_fields
from tests.opendatafabric.ipfs.test_cid import cids
from tests.strategies import edited

links = st.builds(Link, cids, st.binary(max_size=20), st.integers(0, 2**63 - 1))
nodes = st.builds(Node, st.lists(links, max_size=4).map(tuple), st.binary(max_size=20))
CID = cid_of_block(b"odf")
LINK = bytes_field(1, bytes(CID)) + bytes_field(2, b"a") + number_field(3, 3)


@given(nodes)
def test_a_node_is_read_as_it_was_written(node: Node) -> None:
    assert decode_node(encode_node(node.links, node.data or b"")) == node


@given(nodes.flatmap(lambda node: edited(encode_node(node.links, node.data or b""))))
def test_changed_bytes_are_a_node_or_refused(block: bytes) -> None:
    with contextlib.suppress(MalformedDag):
        decode_node(block)


def test_data_may_stand_before_the_links() -> None:
    block = bytes_field(1, b"data") + bytes_field(2, LINK)
    assert decode_node(block) == Node((Link(CID, b"a", 3),), b"data")


def test_an_absent_name_and_size_are_empty() -> None:
    assert decode_node(bytes_field(2, bytes_field(1, bytes(CID)))).links == (Link(CID, b"", 0),)


@pytest.mark.parametrize(
    "block",
    [
        b"\x08\x01",
        b"\x0a\x01a\x0a\x01b",
        b"\x1a\x00",
        b"\x0a\x05ab",
        b"\x0a",
        b"\x0d\x00\x00\x00\x00",
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\x8a\x00\x00",
        bytes_field(2, b""),
        bytes_field(2, bytes_field(2, b"a") + bytes_field(1, bytes(CID))),
        bytes_field(2, LINK + number_field(3, 1)),
        bytes_field(2, LINK + number_field(4, 1)),
        bytes_field(2, bytes_field(1, b"\x01\x55")),
        bytes_field(2, number_field(1, 5)),
        bytes_field(2, bytes_field(1, bytes(CID)) + number_field(2, 5)),
        bytes_field(2, bytes_field(1, bytes(CID)) + bytes_field(3, b"")),
    ],
    ids=bytes.hex,
)
def test_what_is_no_node_is_refused(block: bytes) -> None:
    with pytest.raises(MalformedDag):
        decode_node(block)


def test_fields_come_in_their_order() -> None:
    assert list(read_fields(number_field(3, 300) + bytes_field(1, b"x"))) == [(3, 300), (1, b"x")]
