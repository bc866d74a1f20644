"""A folder with more entries than before: only the blocks on the way to what is new are read, and only those change.

Gives the very tree that ``import_folder`` of all entries would, at the cost of what was added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opendatafabric.errors import MalformedDag
from opendatafabric.ipfs.cid import Cid
from opendatafabric.ipfs.dag_pb import Link
from opendatafabric.ipfs.hamt import (
    PREFIX_CHARS,
    check_shard,
    emit_folder,
    emit_slot,
    emit_slots,
    folder_links,
    name_hash,
)
from opendatafabric.ipfs.unixfs import KUBO_RAW_LEAVES, Emit, Kind, Profile, Tree, UnixFsNode, read_unixfs
from opendatafabric.ipfs.walk import Walk

_Hashed = tuple[bytes, Link]


def extend_folder(root: Cid, added: Mapping[str, Tree], emit: Emit, profile: Profile = KUBO_RAW_LEAVES) -> Walk[Tree]:
    """The folder ``root`` with ``added`` in it, which replace entries of the same names; see ``walk.py``.

    Raises:
        MalformedDag: ``root`` is no folder, or sharded in another way.
    """
    node = read_unixfs(root, (yield root))
    links = folder_links(added)
    if node.kind is Kind.DIRECTORY:
        replaced = {link.name for link in links}
        return emit_folder([*(link for link in node.links if link.name not in replaced), *links], emit, profile)
    return (yield from _extend_shard(node, [(name_hash(link.name), link) for link in links], 0, emit))


def _extend_shard(node: UnixFsNode, entries: Sequence[_Hashed], depth: int, emit: Emit) -> Walk[Tree]:
    check_shard(node)
    slots = {_index(link): link for link in node.links}
    groups: dict[int, list[_Hashed]] = {}
    for hashed, link in entries:
        groups.setdefault(hashed[depth], []).append((hashed, link))
    for index, group in groups.items():
        slots[index] = yield from _extend_slot(slots.get(index), index, group, depth, emit)
    return emit_slots(slots, emit)


def _extend_slot(known: Link | None, index: int, group: list[_Hashed], depth: int, emit: Emit) -> Walk[Link]:
    if known is None:
        return emit_slot(index, group, depth, emit)
    if len(known.name) == PREFIX_CHARS:
        shard = read_unixfs(known.cid, (yield known.cid))
        below = yield from _extend_shard(shard, group, depth + 1, emit)
        return Link(below.cid, known.name, below.tsize)
    name = known.name[PREFIX_CHARS:]
    if all(link.name != name for _, link in group):
        group = [(name_hash(name), Link(known.cid, name, known.tsize)), *group]
    return emit_slot(index, group, depth, emit)


def _index(link: Link) -> int:
    try:
        return int(link.name[:PREFIX_CHARS], 16)
    except ValueError:
        raise MalformedDag("a link of a shard does not say its slot", found=link.name[:PREFIX_CHARS]) from None
