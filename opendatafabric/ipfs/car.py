"""CAR archives, version 1: a header that names roots, then blocks one after another (CARv1 specification).

Writing is a few bytes before each block. Reading takes bytes as they come in pieces of any size, holds at most one
block, and gives out only blocks that are what their CIDs say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from opendatafabric.errors import LimitExceeded, MalformedDag, MalformedIdentifier
from opendatafabric.ipfs.cid import Block, Cid, read_cid
from opendatafabric.ipfs.dag_cbor import decode_dag_cbor, encode_dag_cbor
from opendatafabric.limits import CAR_HEADER_BYTES_MAX, IPFS_BLOCK_BYTES_MAX, VARINT_BYTES_MAX
from opendatafabric.varint import decode_varint, encode_varint

_VERSION: Final = 1
_CID_BYTES_MAX: Final = 256


def car_header(roots: Sequence[Cid]) -> bytes:
    """The beginning of an archive."""
    header = encode_dag_cbor({"roots": list(roots), "version": _VERSION})
    return encode_varint(len(header)) + header


def car_section(cid: Cid, size: int) -> bytes:
    """What stands before the ``size`` bytes of a block."""
    name = bytes(cid)
    return encode_varint(len(name) + size) + name


def write_car(roots: Sequence[Cid], blocks: Iterable[Block]) -> Iterator[bytes]:
    """An archive in pieces; blocks are taken as they are needed."""
    yield car_header(roots)
    for block in blocks:
        yield car_section(block.cid, len(block.data)) + block.data


class CarReader:
    """Takes an archive in pieces: ``feed`` them, then ``finish``. ``roots`` are known once the header has come."""

    def __init__(self, *, block_bytes_max: int = IPFS_BLOCK_BYTES_MAX) -> None:
        self._block_bytes_max = block_bytes_max
        self._pending = bytearray()
        self._roots: tuple[Cid, ...] | None = None

    @property
    def roots(self) -> tuple[Cid, ...]:
        """The roots that the header names; ``MalformedDag`` before it has come."""
        if self._roots is None:
            raise MalformedDag("a CAR ends before its header does")
        return self._roots

    def feed(self, data: bytes) -> Iterator[Block]:
        """The blocks that are whole now, checked against their CIDs. Must be read to its end before the next piece.

        Raises:
            MalformedDag: no CAR of version 1.
            HashMismatch: a block is not the one that its CID names.
            LimitExceeded: a header or block that is too large.
        """
        self._pending += data
        while (section := self._next_section()) is not None:
            if self._roots is None:
                self._roots = _read_header(section)
            else:
                yield _read_block(section)

    def finish(self) -> None:
        """Raises ``MalformedDag`` when the archive was cut."""
        if self._pending or self._roots is None:
            raise MalformedDag("a CAR ends in the middle", hint="fetch it again")

    def _next_section(self) -> bytes | None:
        found = self._length()
        if found is None:
            return None
        length, start = found
        maximum = CAR_HEADER_BYTES_MAX if self._roots is None else self._block_bytes_max + _CID_BYTES_MAX
        if length > maximum:
            raise LimitExceeded("a part of a CAR is too large", expected=f"at most {maximum} bytes", found=length)
        if len(self._pending) < start + length:
            return None
        section = bytes(self._pending[start : start + length])
        del self._pending[: start + length]
        return section

    def _length(self) -> tuple[int, int] | None:
        head = bytes(self._pending[:VARINT_BYTES_MAX])
        if len(head) < VARINT_BYTES_MAX and all(byte & 0x80 for byte in head):
            return None
        try:
            length, start = decode_varint(head)
        except MalformedIdentifier as error:
            raise MalformedDag(f"a length in a CAR is malformed: {error.message}") from None
        if length == 0:
            raise MalformedDag("a part of a CAR is empty")
        return length, start


def read_car(data: bytes, *, block_bytes_max: int = IPFS_BLOCK_BYTES_MAX) -> tuple[tuple[Cid, ...], list[Block]]:
    """Roots and blocks of an archive that is in memory; errors as in ``CarReader``."""
    reader = CarReader(block_bytes_max=block_bytes_max)
    blocks = list(reader.feed(data))
    reader.finish()
    return reader.roots, blocks


def _read_header(section: bytes) -> tuple[Cid, ...]:
    header = decode_dag_cbor(section)
    if not isinstance(header, dict) or header.keys() != {"roots", "version"} or header["version"] != _VERSION:
        raise MalformedDag("this is no CAR of version 1", expected="a map of roots and version")
    roots = header["roots"]
    if not isinstance(roots, list):
        raise MalformedDag("the roots of a CAR are no list")
    return tuple(_root(root) for root in roots)


def _root(root: object) -> Cid:
    if isinstance(root, Cid):
        return root
    raise MalformedDag("a root of a CAR is no CID")


def _read_block(section: bytes) -> Block:
    try:
        cid, position = read_cid(section)
    except MalformedIdentifier as error:
        raise MalformedDag(f"a CID in a CAR is malformed: {error.message}") from None
    data = section[position:]
    cid.check(data)
    return Block(cid, data)
