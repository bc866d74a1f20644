"""UnixFS: files and folders as trees of blocks, with the same CIDs that ``ipfs add`` gives (UnixFS v1).

A file becomes raw leaves of a fixed size under balanced nodes; bytes are taken piece by piece and every block is handed
out once, below before above. Folders over a certain size become trees of shards, see ``hamt.py``. Which sizes these are
is a ``Profile``, and a CID means nothing without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Final

from opendatafabric.errors import MalformedDag
from opendatafabric.ipfs.cid import Block, Cid, Codec, cid_of_block
from opendatafabric.ipfs.dag_pb import Link, Node, decode_node, encode_node
from opendatafabric.ipfs.protobuf import as_bytes, as_number, bytes_field, number_field, read_fields

Emit = Callable[[Block], None]
"""Takes each block as it is made."""


@dataclass(frozen=True, slots=True)
class Profile:
    """How bytes are cut and gathered; ``name`` is kept beside every CID made with it."""

    name: str
    chunk_bytes: int
    links_max: int
    folder_bytes_max: int
    """Names and CIDs of a folder that is one block; a larger one is sharded."""


KUBO_RAW_LEAVES: Final = Profile("cidv1-raw-256k-174", 256 * 1024, 174, 256 * 1024)
"""What ``ipfs add --cid-version 1 --raw-leaves`` does, and with it kamu."""

_REMEMBERED_MAX: Final = 16
_REMEMBERED_BYTES_MAX: Final = 512 * 1024
"""So many blocks that were read stay read, and none that is larger than a folder of one block gets."""


class Kind(IntEnum):
    """What a UnixFS node is."""

    RAW = 0
    DIRECTORY = 1
    FILE = 2
    METADATA = 3
    SYMLINK = 4
    HAMT_SHARD = 5


@dataclass(frozen=True, slots=True)
class Tree:
    """The root of a file or folder; ``size`` of its bytes, ``tsize`` of all its blocks."""

    cid: Cid
    size: int
    tsize: int


@dataclass(frozen=True, slots=True)
class UnixFsNode:
    """A dag-pb node read as UnixFS. ``sizes`` are the bytes under each link of a file."""

    kind: Kind
    links: tuple[Link, ...]
    data: bytes
    size: int
    sizes: tuple[int, ...]
    hash_type: int
    fanout: int


class FileImport:
    """One file, piece by piece: ``update`` as often as needed, then ``finish`` once."""

    def __init__(self, emit: Emit, profile: Profile = KUBO_RAW_LEAVES) -> None:
        self._emit = emit
        self._profile = profile
        self._pending = bytearray()
        self._levels: list[list[Tree]] = [[]]

    def update(self, data: bytes | bytearray | memoryview) -> None:
        """Take the next piece, of any size."""
        view = memoryview(data).cast("B")
        chunk = self._profile.chunk_bytes
        position = min(len(view), -len(self._pending) % chunk)
        self._pending += view[:position]
        if len(self._pending) == chunk:
            self._leaf(bytes(self._pending))
            self._pending.clear()
        while len(view) - position >= chunk:
            self._leaf(bytes(view[position : position + chunk]))
            position += chunk
        self._pending += view[position:]

    def finish(self) -> Tree:
        """The root; an empty file is one empty leaf."""
        if self._pending or self._levels == [[]]:
            self._leaf(bytes(self._pending))
        level = 0
        while level + 1 < len(self._levels) or len(self._levels[level]) > 1:
            self._close(level)
            level += 1
        return self._levels[level][0]

    def _leaf(self, data: bytes) -> None:
        cid = cid_of_block(data)
        self._emit(Block(cid, data))
        self._add(0, Tree(cid, len(data), len(data)))

    def _add(self, level: int, tree: Tree) -> None:
        # A full node is closed only when one more comes: exactly full it may be the root.
        if len(self._levels[level]) == self._profile.links_max:
            self._close(level)
        self._levels[level].append(tree)

    def _close(self, level: int) -> None:
        if level + 1 == len(self._levels):
            self._levels.append([])
        node = emit_file_node(self._levels[level], self._emit)
        self._levels[level] = []
        self._add(level + 1, node)


def import_file(data: bytes, emit: Emit, profile: Profile = KUBO_RAW_LEAVES) -> Tree:
    """The tree of a file that is in memory."""
    importing = FileImport(emit, profile)
    importing.update(data)
    return importing.finish()


def emit_file_node(children: Sequence[Tree], emit: Emit) -> Tree:
    """The node over parts of a file."""
    size = sum(child.size for child in children)
    parts = b"".join(number_field(4, child.size) for child in children)
    data = number_field(1, Kind.FILE) + number_field(3, size) + parts
    links = [Link(child.cid, b"", child.tsize) for child in children]
    return _emit_node(links, data, size, emit)


def emit_folder_node(links: Sequence[Link], emit: Emit) -> Tree:
    """A folder that is one block; ``links`` in any order."""
    ordered = sorted(links, key=lambda link: link.name)
    return _emit_node(ordered, number_field(1, Kind.DIRECTORY), 0, emit)


def emit_shard_node(links: Sequence[Link], bitfield: bytes, *, hash_type: int, fanout: int, emit: Emit) -> Tree:
    """One shard of a folder; ``links`` in the order of their slots."""
    slots = bytes_field(2, bitfield) + number_field(5, hash_type) + number_field(6, fanout)
    return _emit_node(links, number_field(1, Kind.HAMT_SHARD) + slots, 0, emit)


def read_unixfs(cid: Cid, block: bytes) -> UnixFsNode:
    """The node in ``block``, which has been checked against ``cid``; a raw block is a file without links.

    Raises:
        MalformedDag: no UnixFS node.
    """
    if cid.codec is Codec.RAW:
        return UnixFsNode(Kind.RAW, (), block, len(block), (), 0, 0)
    if cid.codec is not Codec.DAG_PB:
        raise MalformedDag(f"{cid} is no part of a file or folder", expected="raw or dag-pb", found=cid.codec.name)
    return _known_unixfs(block) if len(block) <= _REMEMBERED_BYTES_MAX else _unixfs(decode_node(block))


@lru_cache(_REMEMBERED_MAX)
def _known_unixfs(block: bytes) -> UnixFsNode:
    """A walk, a comparison and the next change look at the same few folders; a large one takes a while to read."""
    return _unixfs(decode_node(block))


def _emit_node(links: Sequence[Link], data: bytes, size: int, emit: Emit) -> Tree:
    block = encode_node(links, data)
    cid = cid_of_block(block, Codec.DAG_PB)
    emit(Block(cid, block))
    return Tree(cid, size, len(block) + sum(link.tsize for link in links))


def _unixfs(node: Node) -> UnixFsNode:
    numbers: dict[int, int] = {}
    data, sizes = b"", []
    for number, value in read_fields(node.data or b""):
        if number == 2:
            data = as_bytes(value)
        elif number == 4:
            sizes.append(as_number(value))
        elif number in {1, 3, 5, 6}:
            numbers[number] = as_number(value)
    kind = _kind(numbers)
    if kind in {Kind.FILE, Kind.RAW} and len(sizes) != len(node.links):
        raise MalformedDag("a file node does not say the size of each part", expected=len(node.links), found=len(sizes))
    return UnixFsNode(
        kind, node.links, data, numbers.get(3, len(data)), tuple(sizes), numbers.get(5, 0), numbers.get(6, 0)
    )


def _kind(numbers: dict[int, int]) -> Kind:
    try:
        return Kind(numbers[1])
    except (KeyError, ValueError):
        raise MalformedDag("a node is of no kind that UnixFS knows", found=numbers.get(1)) from None
