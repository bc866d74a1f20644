"""Walks through trees of blocks that do not know where blocks come from: they ask for a CID and are sent its block.

Each walk is a generator that yields the CID whose block it needs. The caller fetches and *checks* the block (``check``)
and sends it; so the same walk serves a gateway that has the blocks and a reader that trusts nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from enum import Enum
from itertools import accumulate
from typing import TypeAlias, TypeVar

from opendatafabric.errors import LimitExceeded, MalformedDag, NotFound
from opendatafabric.ipfs.cid import Cid, Codec
from opendatafabric.ipfs.dag_pb import Link
from opendatafabric.ipfs.hamt import PREFIX_CHARS, find_in_shard, shard_links
from opendatafabric.ipfs.unixfs import Kind, UnixFsNode, read_unixfs
from opendatafabric.limits import DAG_DEPTH_MAX, FOLDER_SHARDS_MAX

T = TypeVar("T")
Walk: TypeAlias = Generator[Cid, bytes, T]

Range: TypeAlias = tuple[int, int | None]
"""First byte and the byte after the last; ``None`` is the end."""

WHOLE: Range = (0, None)


class Scope(Enum):
    """How much of what a path leads to (trustless gateway specification, ``dag-scope``)."""

    BLOCK = "block"
    """The block alone."""
    ENTITY = "entity"
    """A whole file; of a folder what is needed to list it."""
    ALL = "all"
    """Everything below."""


def run(walk: Walk[T], block_of: Callable[[Cid], bytes]) -> T:
    """Run ``walk`` over blocks that are at hand; ``block_of`` checks them."""
    try:
        wanted = next(walk)
        while True:
            wanted = walk.send(block_of(wanted))
    except StopIteration as end:
        found: T = end.value
        return found


def resolve(root: Cid, parts: Sequence[str]) -> Walk[Cid]:
    """The CID at a path of names under ``root``.

    Raises:
        NotFound: no such name, or a part of the path is no folder.
        MalformedDag: a block on the way is no UnixFS node.
    """
    here = root
    for part in parts:
        node = read_unixfs(here, (yield here))
        found = yield from _entry(node, part.encode())
        if found is None:
            raise NotFound(f"there is no {part[:200]!r} under {here}")
        here = found
    return here


def list_folder(root: Cid) -> Walk[dict[str, Link]]:
    """The entries of a folder by name; errors as in ``resolve``, ``NotFound`` for a file."""
    node = read_unixfs(root, (yield root))
    if node.kind is Kind.DIRECTORY:
        return {_name(link.name): link for link in node.links}
    if node.kind is not Kind.HAMT_SHARD:
        raise NotFound(f"{root} is no folder")
    return (yield from _list_shards(node))


def walk_dag(root: Cid, scope: Scope = Scope.ALL, wanted: Range = WHOLE) -> Walk[None]:
    """Every block of ``scope`` depth first, a block as often as it is linked; ``wanted`` limits the bytes of a file.

    The blocks of raw CIDs are not looked at: anything may be sent for them.
    """
    return _walk(root, scope, wanted, 0)


def _walk(cid: Cid, scope: Scope, wanted: Range, depth: int) -> Walk[None]:
    _check_depth(depth)
    block = yield cid
    if cid.codec is Codec.RAW or scope is Scope.BLOCK:
        return
    node = read_unixfs(cid, block)
    if node.kind in {Kind.FILE, Kind.RAW}:
        for child, part in _parts(node, wanted):
            yield from _walk(child, scope, part, depth + 1)
        return
    for child in _below_folder(node, scope):
        yield from _walk(child, scope, WHOLE, depth + 1)


def _below_folder(node: UnixFsNode, scope: Scope) -> list[Cid]:
    if scope is Scope.ALL:
        return [link.cid for link in node.links]
    return shard_links(node) if node.kind is Kind.HAMT_SHARD else []


def leaf_bytes(cid: Cid, block: bytes) -> bytes:
    """The bytes of a file that lie in this block of it; ``walk_dag`` over a file meets its blocks in their order.

    Raises:
        MalformedDag: the block belongs to no file.
    """
    node = read_unixfs(cid, block)
    if node.kind not in {Kind.FILE, Kind.RAW}:
        raise MalformedDag(f"{cid} is no part of a file", found=node.kind.name)
    return node.data


def file_size(root: Cid) -> Walk[int]:
    """How many bytes the file ``root`` has, as its node says; ``NotFound`` for a folder."""
    node = read_unixfs(root, (yield root))
    if node.kind not in {Kind.FILE, Kind.RAW}:
        raise NotFound(f"{root} is no file")
    return node.size


def _parts(node: UnixFsNode, wanted: Range) -> Iterator[tuple[Cid, Range]]:
    # Bytes beside the links of the same node are possible in old trees and come before those of the links.
    start, end = wanted
    first = len(node.data)
    for link, size, after in zip(node.links, node.sizes, accumulate(node.sizes, initial=first), strict=False):
        position = after
        if wanted == WHOLE or (position + size > start and (end is None or position < end)):
            yield link.cid, (max(0, start - position), None if end is None else end - position)


def _entry(node: UnixFsNode, name: bytes) -> Walk[Cid | None]:
    if node.kind is Kind.DIRECTORY:
        return next((link.cid for link in node.links if link.name == name), None)
    depth = 0
    while node.kind is Kind.HAMT_SHARD:
        link = find_in_shard(node, name, depth)
        if link is None or len(link.name) != PREFIX_CHARS:
            return None if link is None else link.cid
        node = read_unixfs(link.cid, (yield link.cid))
        depth += 1
    return None


def _list_shards(root: UnixFsNode) -> Walk[dict[str, Link]]:
    found: dict[str, Link] = {}
    queue = [root]
    asked = 0
    while queue:
        node = queue.pop()
        found |= {_name(link.name[PREFIX_CHARS:]): link for link in node.links if len(link.name) > PREFIX_CHARS}
        for cid in shard_links(node):
            asked += 1
            _check_shards(asked)
            queue.append(read_unixfs(cid, (yield cid)))
    return found


def _name(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError:
        raise MalformedDag("a name in a folder is not UTF-8") from None


def _check_shards(count: int) -> None:
    if count > FOLDER_SHARDS_MAX:
        raise LimitExceeded("a folder has too many shards", expected=f"at most {FOLDER_SHARDS_MAX}")


def _check_depth(depth: int) -> None:
    if depth > DAG_DEPTH_MAX:
        raise LimitExceeded("a tree of blocks is too deep", expected=f"at most {DAG_DEPTH_MAX} levels")
