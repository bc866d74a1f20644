"""UnixFS folders: the CIDs that ``ipfs add -r`` gives, plain and sharded."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.errors import LimitExceeded, MalformedDag, NotFound
from opendatafabric.ipfs import hamt
from opendatafabric.ipfs.cid import Block, cid_of_block
from opendatafabric.ipfs.hamt import check_shard, find_in_shard, import_folder, name_hash
from opendatafabric.ipfs.unixfs import Kind, Profile, Tree, UnixFsNode, import_file, read_unixfs
from opendatafabric.ipfs.walk import list_folder, resolve, run
from tests.opendatafabric.ipfs.test_unixfs import VECTORS, nothing

TINY = Profile("tiny", chunk_bytes=4, links_max=3, folder_bytes_max=1)
names = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=8)
folders = st.dictionaries(names, st.binary(max_size=3), max_size=40)


def trees(entries: dict[str, bytes]) -> dict[str, Tree]:
    return {name: import_file(data, nothing) for name, data in entries.items()}


@pytest.mark.parametrize("case", VECTORS["folders"], ids=lambda case: str(case["files"]))
def test_a_folder_has_the_cid_that_other_implementations_give(case: dict[str, Any]) -> None:
    contents = [b"%d" % number for number in range(case["files"])]
    entries = trees({"f1620" + hashlib.sha3_256(data).hexdigest(): data for data in contents})
    assert import_folder(entries, nothing).cid.text == case["cid"]


@given(folders, st.booleans())
def test_every_entry_is_found_and_listed_in_plain_and_sharded_folders(
    entries: dict[str, bytes], is_sharded: bool
) -> None:
    blocks: dict[Any, bytes] = {}
    profile = TINY if is_sharded else Profile("large", 4, 3, 1_000_000)
    root = import_folder(trees(entries), lambda block: blocks.update({block.cid: block.data}), profile)
    for name, data in entries.items():
        assert run(resolve(root.cid, [name]), blocks.__getitem__) == cid_of_block(data)
    assert run(list_folder(root.cid), blocks.__getitem__).keys() == entries.keys()
    with pytest.raises(NotFound, match="absent/"):
        run(resolve(root.cid, ["absent/"]), blocks.__getitem__)


@given(folders)
def test_the_order_of_the_entries_does_not_matter(entries: dict[str, bytes]) -> None:
    known = trees(entries)
    turned = dict(reversed(known.items()))
    assert import_folder(known, nothing, TINY) == import_folder(turned, nothing, TINY)


@given(folders)
def test_the_size_of_a_folder_is_that_of_all_its_blocks(entries: dict[str, bytes]) -> None:
    blocks: list[Block] = []
    root = import_folder(trees(entries), blocks.append, TINY)
    assert root.tsize == sum(len(block.data) for block in blocks) + sum(map(len, entries.values()))


def test_an_empty_folder_is_one_well_known_block() -> None:
    root = import_folder({}, nothing)
    assert root.cid.text == "bafybeiczsscdsbs7ffqz55asqdf3smv6klcw3gofszvwlyarci47bgf354"


def test_names_with_one_hash_are_refused_instead_of_recursing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hamt, "name_hash", lambda name: bytes(8))
    with pytest.raises(LimitExceeded, match="same hash"):
        import_folder(trees({"a": b"", "b": b""}), nothing, TINY)


def test_the_hash_of_a_name_is_the_first_half_of_murmur3() -> None:
    assert name_hash(b"hello").hex() == "cbd8a7b341bd9b02"


@pytest.mark.parametrize(("kind", "hash_type", "fanout"), [(1, 0x22, 256), (5, 0x12, 256), (5, 0x22, 512)])
def test_other_ways_to_shard_are_refused(kind: int, hash_type: int, fanout: int) -> None:
    with pytest.raises(MalformedDag, match="unknown way"):
        check_shard(UnixFsNode(Kind(kind), (), b"", 0, (), hash_type, fanout))


def test_a_shard_deeper_than_the_hash_is_refused() -> None:
    blocks: list[Block] = []
    root = import_folder(trees({"a": b"", "b": b""}), blocks.append, TINY)
    node = read_unixfs(root.cid, blocks[-1].data)
    with pytest.raises(MalformedDag, match="deeper"):
        find_in_shard(node, b"a", 8)
