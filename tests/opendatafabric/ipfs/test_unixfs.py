"""UnixFS files: the CIDs that ``ipfs add`` gives, however the bytes come."""

from __future__ import annotations

import contextlib
import hashlib
import json
from functools import cache
from typing import Any

import aleph_cid
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.errors import MalformedDag
from opendatafabric.ipfs.cid import Block, Cid, Codec, HashFunction, cid_of_block
from opendatafabric.ipfs.dag_pb import Link, decode_node, encode_node
from opendatafabric.ipfs.protobuf import number_field
from opendatafabric.ipfs.unixfs import (
    KUBO_RAW_LEAVES,
    FileImport,
    Kind,
    Profile,
    Tree,
    import_file,
    read_unixfs,
)
from tests.vectors.load import FOLDER

VECTORS = json.loads((FOLDER / "ipfs" / "unixfs.json").read_text())
TINY = Profile("tiny", chunk_bytes=4, links_max=3, folder_bytes_max=100)


@cache
def vector_bytes() -> bytes:
    return hashlib.shake_256(b"odf").digest(max(case["size"] for case in VECTORS["files"]))


def nothing(block: Block) -> None:
    """Takes a block and forgets it."""


def by_levels(data: bytes, profile: Profile) -> Tree:
    """The definition: all leaves, then all nodes over them, and so on until one is left."""
    pieces = [data[i : i + profile.chunk_bytes] for i in range(0, len(data), profile.chunk_bytes)] or [b""]
    level = [Tree(cid_of_block(piece), len(piece), len(piece)) for piece in pieces]
    while len(level) > 1:
        groups = [level[i : i + profile.links_max] for i in range(0, len(level), profile.links_max)]
        level = [_node(group) for group in groups]
    return level[0]


def _node(children: list[Tree]) -> Tree:
    size = sum(child.size for child in children)
    parts = b"".join(number_field(4, child.size) for child in children)
    data = number_field(1, 2) + number_field(3, size) + parts
    block = encode_node([Link(child.cid, b"", child.tsize) for child in children], data)
    return Tree(cid_of_block(block, Codec.DAG_PB), size, len(block) + sum(child.tsize for child in children))


@pytest.mark.parametrize("case", VECTORS["files"], ids=lambda case: str(case["size"]))
def test_a_file_has_the_cid_that_other_implementations_give(case: dict[str, Any]) -> None:
    tree = import_file(vector_bytes()[: case["size"]], nothing)
    assert (tree.cid.text, tree.size, tree.tsize) == (case["cid"], case["size"], case["tsize"])


@given(st.binary(max_size=2_000), st.lists(st.integers(1, 700_000), max_size=5))
def test_pieces_of_any_size_give_the_cid_of_another_implementation(seed: bytes, sizes: list[int]) -> None:
    importing, theirs = FileImport(nothing), aleph_cid.CidHasher.for_ipfs_v1_raw_leaves()
    for piece in [seed, *(hashlib.shake_128(seed).digest(size) for size in sizes)]:
        importing.update(piece)
        theirs.update(piece)
    assert importing.finish().cid.text == theirs.finalize()


@given(st.binary(max_size=200), st.integers(1, 9))
def test_trees_of_many_levels_are_as_if_built_level_by_level(data: bytes, piece: int) -> None:
    importing = FileImport(nothing, TINY)
    for start in range(0, len(data), piece):
        importing.update(memoryview(data)[start : start + piece])
    assert importing.finish() == by_levels(data, TINY)


@given(st.binary(max_size=200))
def test_every_block_is_handed_out_after_those_below_it_and_the_sizes_add_up(data: bytes) -> None:
    blocks: list[Block] = []
    tree = import_file(data, blocks.append, TINY)
    seen: set[Cid] = set()
    for block in blocks:
        block.cid.check(block.data)
        if block.cid.codec is Codec.DAG_PB:
            assert {link.cid for link in decode_node(block.data).links} <= seen
        seen.add(block.cid)
    assert blocks[-1].cid == tree.cid
    assert sum(len(block.data) for block in blocks) == tree.tsize
    assert b"".join(block.data for block in blocks if block.cid.codec is Codec.RAW) == data


def test_a_file_node_says_its_size_and_that_of_each_part() -> None:
    blocks: list[Block] = []
    tree = import_file(b"123456789", blocks.append, TINY)
    node = read_unixfs(tree.cid, blocks[-1].data)
    assert (node.kind, node.size, node.sizes) == (Kind.FILE, 9, (4, 4, 1))


def test_a_raw_block_is_a_file_without_links() -> None:
    node = read_unixfs(cid_of_block(b"odf"), b"odf")
    assert (node.kind, node.data, node.size, node.links) == (Kind.RAW, b"odf", 3, ())


@pytest.mark.parametrize(
    "data",
    [b"", b"\x08\x09", b"\x0a\x01a", b"\x08\x02\x20\x05", b"\x08\x02\x20", b"\x12\x00", b"\x08\x02\x22\x01\x05"],
    ids=bytes.hex,
)
def test_what_is_no_unixfs_node_is_refused(data: bytes) -> None:
    block = encode_node([], data)
    with pytest.raises(MalformedDag):
        read_unixfs(cid_of_block(block, Codec.DAG_PB), block)


def test_a_block_of_another_codec_is_no_file() -> None:
    with pytest.raises(MalformedDag, match="no part of a file"):
        read_unixfs(Cid(Codec.DAG_CBOR, HashFunction.SHA2_256, bytes(32)), b"")


@given(st.binary(max_size=60))
def test_any_bytes_are_a_unixfs_node_or_refused(data: bytes) -> None:
    block = encode_node([], data)
    with contextlib.suppress(MalformedDag):
        read_unixfs(cid_of_block(block, Codec.DAG_PB), block)


def test_the_profile_is_the_one_kamu_publishes_with() -> None:
    assert (KUBO_RAW_LEAVES.chunk_bytes, KUBO_RAW_LEAVES.links_max) == (262_144, 174)
    assert KUBO_RAW_LEAVES.folder_bytes_max == 262_144
