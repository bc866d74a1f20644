"""Walks through trees: the right blocks in the right order, and an end to hostile trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.errors import LimitExceeded, MalformedDag, NotFound
from opendatafabric.ipfs.cid import Block, Cid, Codec, cid_of_block
from opendatafabric.ipfs.dag_pb import Link, decode_node, encode_node
from opendatafabric.ipfs.hamt import FANOUT, MURMUR3, import_folder
from opendatafabric.ipfs.protobuf import bytes_field, number_field
from opendatafabric.ipfs.unixfs import Profile, Tree, import_file
from opendatafabric.ipfs.walk import Scope, Walk, file_size, leaf_bytes, list_folder, resolve, run, walk_dag

TINY = Profile("tiny", chunk_bytes=4, links_max=2, folder_bytes_max=10_000)
SHARDED = Profile("sharded", chunk_bytes=4, links_max=2, folder_bytes_max=1)


@dataclass
class Shelf:
    """Blocks by CID, and in which order they were asked for."""

    blocks: dict[Cid, bytes] = field(default_factory=dict)
    asked: list[Cid] = field(default_factory=list)

    def put(self, block: Block) -> None:
        self.blocks[block.cid] = block.data

    def put_node(self, links: list[Link], data: bytes) -> Cid:
        block = encode_node(links, data)
        cid = cid_of_block(block, Codec.DAG_PB)
        self.blocks[cid] = block
        return cid

    def get(self, cid: Cid) -> bytes:
        self.asked.append(cid)
        return self.blocks[cid]

    def walked(self, walk: Callable[[], Walk[None]]) -> list[Cid]:
        self.asked = []
        run(walk(), self.get)
        return self.asked


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def a_tree(shelf: Shelf, profile: Profile = TINY) -> tuple[Tree, Tree]:
    """A folder with a file of several levels in a folder, and that file."""
    large = import_file(b"0123456789abcdef!", shelf.put, TINY)
    small = import_file(b"x", shelf.put, TINY)
    inner = import_folder({"large": large, "small": small}, shelf.put, profile)
    return import_folder({"inner": inner, "empty": import_folder({}, shelf.put)}, shelf.put), large


def depth_first(shelf: Shelf, cid: Cid) -> list[Cid]:
    """The definition."""
    links = decode_node(shelf.blocks[cid]).links if cid.codec is Codec.DAG_PB else ()
    return [cid, *(each for link in links for each in depth_first(shelf, link.cid))]


@pytest.mark.parametrize("profile", [TINY, SHARDED], ids=lambda profile: profile.name)
def test_all_is_every_block_depth_first(shelf: Shelf, profile: Profile) -> None:
    root, _ = a_tree(shelf, profile)
    assert shelf.walked(lambda: walk_dag(root.cid)) == depth_first(shelf, root.cid)


@given(st.binary(max_size=100))
def test_the_leaves_of_a_file_come_in_the_order_of_its_bytes(data: bytes) -> None:
    shelf = Shelf()
    root = import_file(data, shelf.put, TINY)
    asked = shelf.walked(lambda: walk_dag(root.cid, Scope.ENTITY))
    assert b"".join(leaf_bytes(cid, shelf.blocks[cid]) for cid in asked) == data


def test_a_block_is_the_root_alone(shelf: Shelf) -> None:
    root, _ = a_tree(shelf)
    assert shelf.walked(lambda: walk_dag(root.cid, Scope.BLOCK)) == [root.cid]


def test_the_entity_of_a_plain_folder_is_its_block(shelf: Shelf) -> None:
    root, _ = a_tree(shelf)
    assert shelf.walked(lambda: walk_dag(root.cid, Scope.ENTITY)) == [root.cid]


def test_the_entity_of_a_sharded_folder_is_its_shards_and_no_file(shelf: Shelf) -> None:
    files = {f"file-{number}": import_file(b"%d" % number, shelf.put, TINY) for number in range(300)}
    root = import_folder(files, shelf.put, SHARDED)
    asked = shelf.walked(lambda: walk_dag(root.cid, Scope.ENTITY))
    assert len(asked) > 50
    assert all(cid.codec is Codec.DAG_PB for cid in asked)
    assert run(list_folder(root.cid), shelf.get).keys() == files.keys()


@given(st.binary(min_size=1, max_size=100), st.integers(0, 120), st.integers(1, 120) | st.none())
def test_a_range_asks_for_the_leaves_it_touches_and_no_others(data: bytes, start: int, length: int | None) -> None:
    shelf = Shelf()
    end = None if length is None else start + length
    root = import_file(data, shelf.put, TINY)
    asked = shelf.walked(lambda: walk_dag(root.cid, Scope.ENTITY, (start, end)))
    leaves = [cid for cid in asked if cid.codec is Codec.RAW]
    pieces = [data[i : i + 4] for i in range(0, len(data), 4)]
    touched = [piece for i, piece in enumerate(pieces) if i * 4 + len(piece) > start and (end is None or i * 4 < end)]
    assert leaves == [cid_of_block(piece) for piece in touched] or leaves == [root.cid]


def test_a_path_leads_to_a_file_by_the_blocks_on_its_way(shelf: Shelf) -> None:
    root, large = a_tree(shelf, SHARDED)
    assert run(resolve(root.cid, ["inner", "large"]), shelf.get) == large.cid
    assert shelf.asked[0] == root.cid
    assert large.cid not in shelf.asked


def test_no_path_leads_to_the_root_without_any_block(shelf: Shelf) -> None:
    root, _ = a_tree(shelf)
    assert run(resolve(root.cid, []), shelf.get) == root.cid
    assert not shelf.asked


@pytest.mark.parametrize("path", ["absent", "inner/absent", "inner/large/x", "inner/small/x", "INNER"])
def test_a_path_that_leads_nowhere_is_not_found(shelf: Shelf, path: str) -> None:
    root, _ = a_tree(shelf)
    with pytest.raises(NotFound):
        run(resolve(root.cid, path.split("/")), shelf.get)


def test_the_size_of_a_file_is_read_from_its_root(shelf: Shelf) -> None:
    root, large = a_tree(shelf)
    assert run(file_size(large.cid), shelf.get) == 17
    with pytest.raises(NotFound, match="no file"):
        run(file_size(root.cid), shelf.get)


def test_a_file_cannot_be_listed_and_a_folder_has_no_bytes(shelf: Shelf) -> None:
    root, large = a_tree(shelf)
    with pytest.raises(NotFound, match="no folder"):
        run(list_folder(large.cid), shelf.get)
    with pytest.raises(MalformedDag, match="no part of a file"):
        leaf_bytes(root.cid, shelf.blocks[root.cid])


def test_a_tree_that_is_too_deep_is_refused(shelf: Shelf) -> None:
    cid = shelf.put_node([], number_field(1, 2))
    for _ in range(40):
        cid = shelf.put_node([Link(cid, b"", 0)], number_field(1, 2) + number_field(4, 0))
    with pytest.raises(LimitExceeded, match="too deep"):
        run(walk_dag(cid), shelf.get)


def test_a_folder_that_repeats_its_shards_for_ever_is_refused(shelf: Shelf) -> None:
    data = number_field(1, 5) + bytes_field(2, b"\x01") + number_field(5, MURMUR3) + number_field(6, FANOUT)
    cid = shelf.put_node([], data)
    for _ in range(3):
        cid = shelf.put_node([Link(cid, b"00", 0)] * 60, data)
    with pytest.raises(LimitExceeded, match="too many shards"):
        run(list_folder(cid), shelf.get)


def test_a_name_that_is_no_text_is_refused(shelf: Shelf) -> None:
    cid = shelf.put_node([Link(cid_of_block(b""), b"\xff", 0)], number_field(1, 1))
    with pytest.raises(MalformedDag, match="UTF-8"):
        run(list_folder(cid), shelf.get)
