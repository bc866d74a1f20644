"""dag-pb: nodes with named links, the inner blocks of every UnixFS tree (DAG-PB specification).

Written in the canonical form (links before data, no empty fields invented), read as Kubo reads: data may come first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from opendatafabric.errors import MalformedDag, MalformedIdentifier
from opendatafabric.ipfs.cid import Cid
from opendatafabric.ipfs.protobuf import as_bytes, as_number, bytes_field, number_field, read_fields


@dataclass(frozen=True, slots=True)
class Link:
    """``tsize`` is the size of all blocks under ``cid`` as their writer counted it: never to be relied on."""

    cid: Cid
    name: bytes
    tsize: int


@dataclass(frozen=True, slots=True)
class Node:
    """``data`` is what the format above dag-pb makes of it; ``None`` when the field is absent."""

    links: tuple[Link, ...]
    data: bytes | None


def encode_node(links: Iterable[Link], data: bytes) -> bytes:
    """The block of a node with these links in this order."""
    return b"".join(bytes_field(2, _encode_link(link)) for link in links) + bytes_field(1, data)


def decode_node(block: bytes) -> Node:
    """Read a block; its size bounds the work.

    Raises:
        MalformedDag: no dag-pb node.
    """
    links: list[Link] = []
    data: bytes | None = None
    for number, value in read_fields(block):
        if number == 2:
            links.append(_decode_link(as_bytes(value)))
        elif number == 1 and data is None:
            data = as_bytes(value)
        else:
            raise MalformedDag("a node has a field that is unknown or repeated", expected="1 or 2", found=number)
    return Node(tuple(links), data)


def _encode_link(link: Link) -> bytes:
    return bytes_field(1, bytes(link.cid)) + bytes_field(2, link.name) + number_field(3, link.tsize)


def _decode_link(message: bytes) -> Link:
    cid, name, tsize, last = None, b"", 0, 0
    for number, value in read_fields(message):
        if number <= last:
            raise MalformedDag("the fields of a link are out of order", expected=f"above {last}", found=number)
        last = number
        if number == 1:
            cid = _cid(as_bytes(value))
        elif number == 2:
            name = as_bytes(value)
        elif number == 3:
            tsize = as_number(value)
        else:
            raise MalformedDag("a link has an unknown field", expected="1 to 3", found=number)
    if cid is None:
        raise MalformedDag("a link leads nowhere", expected="a CID in field 1")
    return Link(cid, name, tsize)


def _cid(data: bytes) -> Cid:
    try:
        return Cid.from_bytes(data)
    except MalformedIdentifier as error:
        raise MalformedDag(f"a link has a malformed CID: {error.message}") from None
