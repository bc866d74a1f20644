"""Folders: one block while they are small, a tree of shards by the hash of the names when they are not (UnixFS HAMT).

The prefix tree is Kubo's: murmur3 of the name, one byte a level, 256 slots, two hex digits before each name. It depends
on the entries alone, not on the order in which they came, so equal folders have equal CIDs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import mmh3

from opendatafabric.errors import LimitExceeded, MalformedDag
from opendatafabric.ipfs.cid import Cid
from opendatafabric.ipfs.dag_pb import Link
from opendatafabric.ipfs.unixfs import (
    KUBO_RAW_LEAVES,
    Emit,
    Kind,
    Profile,
    Tree,
    UnixFsNode,
    emit_folder_node,
    emit_shard_node,
)

FANOUT: Final = 256
MURMUR3: Final = 0x22
HASH_BYTES: Final = 8
PREFIX_CHARS: Final = 2


def import_folder(entries: Mapping[str, Tree], emit: Emit, profile: Profile = KUBO_RAW_LEAVES) -> Tree:
    """The tree of a folder by the names in it.

    Raises:
        LimitExceeded: names whose hashes are all the same, made on purpose.
    """
    return emit_folder(folder_links(entries), emit, profile)


def folder_links(entries: Mapping[str, Tree]) -> list[Link]:
    """The entries of a folder as links, in no order."""
    return [Link(tree.cid, name.encode(), tree.tsize) for name, tree in entries.items()]


def emit_folder(links: Sequence[Link], emit: Emit, profile: Profile = KUBO_RAW_LEAVES) -> Tree:
    """As ``import_folder``, of links with the names of the entries."""
    if sum(len(link.name) + len(bytes(link.cid)) for link in links) <= profile.folder_bytes_max:
        return emit_folder_node(links, emit)
    return _shard([(name_hash(link.name), link) for link in links], 0, emit)


def name_hash(name: bytes) -> bytes:
    """Which slot a name takes at each depth."""
    first: int = mmh3.hash64(name, signed=False)[0]
    return first.to_bytes(HASH_BYTES, "big")


def shard_links(node: UnixFsNode) -> list[Cid]:
    """The shards directly below the shard ``node``; errors as in ``check_shard``."""
    check_shard(node)
    return [link.cid for link in node.links if len(link.name) == PREFIX_CHARS]


def find_in_shard(node: UnixFsNode, name: bytes, depth: int) -> Link | None:
    """What ``node`` knows of ``name``: its own link, or with a name of two characters the shard to ask next.

    Raises:
        MalformedDag: no shard of the known kind, or too deep.
    """
    check_shard(node)
    if depth >= HASH_BYTES:
        raise MalformedDag("a sharded folder is deeper than its hash is long", expected=HASH_BYTES)
    prefix = b"%02X" % name_hash(name)[depth]
    wanted = {prefix, prefix + name}
    return next((link for link in node.links if link.name in wanted), None)


def check_shard(node: UnixFsNode) -> None:
    """Raises ``MalformedDag`` for anything but a shard as Kubo writes it."""
    if node.kind is not Kind.HAMT_SHARD or node.hash_type != MURMUR3 or node.fanout != FANOUT:
        raise MalformedDag(
            "a folder is sharded in an unknown way",
            expected=f"murmur3, {FANOUT} slots",
            found=f"hash {node.hash_type:#x}, {node.fanout} slots",
        )


def _shard(entries: Sequence[tuple[bytes, Link]], depth: int, emit: Emit) -> Tree:
    if depth == HASH_BYTES:
        raise LimitExceeded("names of a folder have the same hash", expected="fewer than two", found=len(entries))
    slots: dict[int, list[tuple[bytes, Link]]] = {}
    for hashed, link in entries:
        slots.setdefault(hashed[depth], []).append((hashed, link))
    return emit_slots({index: emit_slot(index, slots[index], depth, emit) for index in sorted(slots)}, emit)


def emit_slots(slots: Mapping[int, Link], emit: Emit) -> Tree:
    """The shard with these slots taken."""
    bits = sum(1 << index for index in slots)
    bitfield = bits.to_bytes(FANOUT // 8, "big").lstrip(b"\0")
    links = [slots[index] for index in sorted(slots)]
    return emit_shard_node(links, bitfield, hash_type=MURMUR3, fanout=FANOUT, emit=emit)


def emit_slot(index: int, entries: Sequence[tuple[bytes, Link]], depth: int, emit: Emit) -> Link:
    """What the slot ``index`` of a shard at ``depth`` holds: the only one of the hashed entries, or a shard of them."""
    prefix = b"%02X" % index
    if len(entries) == 1:
        link = entries[0][1]
        return Link(link.cid, prefix + link.name, link.tsize)
    below = _shard(entries, depth + 1, emit)
    return Link(below.cid, prefix, below.tsize)
