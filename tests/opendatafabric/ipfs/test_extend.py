"""Extending folders: the very tree that importing all entries gives, at the cost of what is new."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.errors import MalformedDag
from opendatafabric.ipfs.cid import Block, Cid, Codec, cid_of_block
from opendatafabric.ipfs.dag_pb import Link, encode_node
from opendatafabric.ipfs.extend import extend_folder
from opendatafabric.ipfs.hamt import FANOUT, MURMUR3, import_folder
from opendatafabric.ipfs.protobuf import bytes_field, number_field
from opendatafabric.ipfs.unixfs import Profile, Tree, import_file
from opendatafabric.ipfs.walk import run
from tests.opendatafabric.ipfs.test_hamt import folders, trees
from tests.opendatafabric.ipfs.test_unixfs import nothing

profiles = st.sampled_from([0, 200, 1_000, 100_000]).map(lambda size: Profile("any", 4, 3, size))


class Shelf:
    """Blocks by CID, and what was read and made."""

    def __init__(self) -> None:
        self.blocks: dict[Cid, bytes] = {}
        self.read: list[Cid] = []
        self.made: list[Cid] = []

    def put(self, block: Block) -> None:
        self.blocks[block.cid] = block.data
        self.made.append(block.cid)

    def get(self, cid: Cid) -> bytes:
        self.read.append(cid)
        return self.blocks[cid]


@given(folders, st.lists(folders, max_size=3), profiles)
def test_a_folder_that_grew_is_the_one_that_was_made_at_once(
    first: dict[str, bytes], later: list[dict[str, bytes]], profile: Profile
) -> None:
    shelf = Shelf()
    grown, entries = import_folder(trees(first), shelf.put, profile), dict(first)
    for added in later:
        grown = run(extend_folder(grown.cid, trees(added), shelf.put, profile), shelf.get)
        entries |= added
    assert grown == import_folder(trees(entries), nothing, profile)


@given(folders, folders, profiles)
def test_what_is_read_is_what_is_replaced(first: dict[str, bytes], added: dict[str, bytes], profile: Profile) -> None:
    shelf, anew = Shelf(), Shelf()
    old = import_folder(trees(first), shelf.put, profile)
    before = set(shelf.made)
    shelf.made = []
    run(extend_folder(old.cid, trees(added), shelf.put, profile), shelf.get)
    import_folder(trees(first | added), anew.put, profile)
    assert (before - set(shelf.read)) | set(shelf.made) == set(anew.made)


def test_a_large_folder_is_read_and_changed_in_few_places() -> None:
    shelf = Shelf()
    entries = {f"{number:069}": import_file(b"%d" % number, nothing) for number in range(5_000)}
    old = import_folder(entries, shelf.put)
    shelf.made = []
    run(extend_folder(old.cid, {"new": import_file(b"new", nothing)}, shelf.put), shelf.get)
    assert (len(shelf.read), len(shelf.made)) <= (4, 4)


def test_a_file_cannot_be_extended() -> None:
    shelf = Shelf()
    file = import_file(b"odf", shelf.put)
    with pytest.raises(MalformedDag):
        run(extend_folder(file.cid, {}, nothing), shelf.get)


def test_a_shard_whose_links_do_not_say_their_slots_is_refused() -> None:
    data = number_field(1, 5) + bytes_field(2, b"\x01") + number_field(5, MURMUR3) + number_field(6, FANOUT)
    block = encode_node([Link(cid_of_block(b""), b"zz-name", 0)], data)
    cid = cid_of_block(block, Codec.DAG_PB)
    with pytest.raises(MalformedDag, match="slot"):
        run(extend_folder(cid, {"a": Tree(cid_of_block(b""), 0, 0)}, nothing), lambda _: block)
