"""Blocks in transit: a gzip of a tar, entries named by bare hash, oldest block first (smart transfer protocol).

Archives come from strangers, so nothing is extracted by a library: headers are read one by one, only regular files
with a multihash for a name are taken, everything is counted before it is kept, and each block must hash to its name.
One gzip member, no entries of other kinds, nothing behind the end.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from isal import isal_zlib

from opendatafabric.errors import HashMismatch, LimitExceeded, MalformedIdentifier, MalformedPack
from opendatafabric.limits import (
    BLOCK_BYTES_MAX,
    PACK_BLOCKS_MAX,
    PACK_BYTES_MAX,
    PACK_UNPACKED_BYTES_MAX,
    READ_CHUNK_BYTES,
)
from opendatafabric.multihash import Multihash, physical_hash

_TAR_BLOCK: Final = 512
_NAME: Final = slice(0, 100)
_SIZE: Final = slice(124, 136)
_CHECKSUM: Final = slice(148, 156)
_TYPE: Final = 156
_PREFIX: Final = slice(345, 500)
_REGULAR: Final = frozenset(b"0\0")
_PAX: Final = frozenset(b"xg")
_PAX_FORBIDDEN: Final = (b"path=", b"size=", b"linkpath=", b"GNU.sparse")
_USTAR_TAIL: Final = b"0" + bytes(100) + b"ustar\00000" + bytes(247)
_BEFORE_SIZE: Final = b"0000644\0" + b"0000000\0" * 2
_AFTER_SIZE: Final = b"00000000000\0"
_FIXED_SUM: Final = sum(_BEFORE_SIZE) + sum(_AFTER_SIZE) + sum(b" " * 8) + sum(_USTAR_TAIL)
_ZEROS_BEHIND_END_MAX: Final = 1024 * 1024
"""Programs fill up the last of their records, commonly of 10 KiB."""

_GZIP_WBITS: Final = 31
_GZIP_HEADER: Final = b"\x1f\x8b\x08" + bytes(6) + b"\xff"
_GZIP_TRAILER: Final = struct.Struct("<II")
_LEVEL: Final = 2


class BackwardsPacker:
    """An archive of blocks that come newest first, as a chain is walked; only the compressed part is kept.

    Each piece is compressed by itself and ends at a byte, so in the end the pieces are laid behind each other in the
    other order: one gzip member as any other. Of an archive that grows beyond ``bytes_max`` only the size is kept.
    """

    def __init__(self, *, bytes_max: int = PACK_BYTES_MAX) -> None:
        self.size = len(_GZIP_HEADER) + _GZIP_TRAILER.size
        self._bytes_max = bytes_max
        self._pieces: list[_Piece] = []
        self._add(_Piece.of(bytes(2 * _TAR_BLOCK), isal_zlib.Z_FINISH))

    def add_all(self, newest_first: Sequence[tuple[str, bytes]]) -> None:
        """Put blocks, each with its hash as text, before those that are in; their bytes go in as they are."""
        tar = b"".join([_entry(name, raw) for name, raw in reversed(newest_first)])
        self._add(_Piece.of(tar, isal_zlib.Z_FULL_FLUSH))

    def finish(self) -> bytes | None:
        """The archive, oldest block first; ``None`` when it is larger than ``bytes_max``."""
        if self.size > self._bytes_max:
            return None
        check, length = 0, 0
        for piece in reversed(self._pieces):
            check = isal_zlib.crc32_combine(check, piece.check, piece.length)
            length += piece.length
        trailer = _GZIP_TRAILER.pack(check, length % 2**32)
        return b"".join((_GZIP_HEADER, *(piece.deflated for piece in reversed(self._pieces)), trailer))

    def _add(self, piece: _Piece) -> None:
        self.size += len(piece.deflated)
        if self.size <= self._bytes_max:
            self._pieces.append(piece)
        else:
            self._pieces.clear()


class _Piece(NamedTuple):
    """A stretch of a tar, deflated; its length and CRC-32 before that."""

    deflated: bytes
    length: int
    check: int

    @classmethod
    def of(cls, tar: bytes, flush: int) -> _Piece:
        deflate = isal_zlib.compressobj(_LEVEL, isal_zlib.DEFLATED, -isal_zlib.MAX_WBITS)
        return cls(deflate.compress(tar) + deflate.flush(flush), len(tar), isal_zlib.crc32(tar))


def pack_blocks(blocks: Iterable[tuple[Multihash, bytes]]) -> bytes:
    """The archive of ``blocks``, given oldest first.

    Raises:
        LimitExceeded: it would be larger than ``PACK_BYTES_MAX``.
    """
    packer = BackwardsPacker()
    packer.add_all([(str(block_hash), raw) for block_hash, raw in blocks][::-1])
    packed = packer.finish()
    if packed is None:
        raise pack_too_large(packer.size)
    return packed


def pack_too_large(size: int) -> LimitExceeded:
    """The error of an archive of ``size`` bytes."""
    return LimitExceeded("pack of blocks is too large", expected=f"at most {PACK_BYTES_MAX} bytes", found=size)


def unpack_blocks(data: bytes, *, count_max: int = PACK_BLOCKS_MAX) -> Iterator[tuple[Multihash, bytes]]:
    """The blocks of an archive in its order, each hashed before it is given out.

    Raises:
        MalformedPack: not such an archive, an entry that is no plain file named by a hash, a name twice.
        HashMismatch: bytes that do not hash to their name.
        LimitExceeded: more than ``count_max`` blocks, or over the maxima of ``limits.py``.
    """
    if len(data) > PACK_BYTES_MAX:
        raise pack_too_large(len(data))
    stream = _Inflated(data)
    seen: set[Multihash] = set()
    after_pax = False
    while (header := stream.take(_TAR_BLOCK)) != bytes(_TAR_BLOCK):
        size = _checked_size(header)
        if header[_TYPE] in _PAX:
            _pass_over_pax(stream.take_padded(size), again=after_pax)
            after_pax = True
            continue
        after_pax = False
        if len(seen) >= count_max:
            raise LimitExceeded("pack holds more blocks than announced", expected=f"at most {count_max}")
        block_hash = _block_hash(header)
        if block_hash in seen:
            raise MalformedPack(f"pack holds block {block_hash} twice")
        seen.add(block_hash)
        yield block_hash, _checked_block(block_hash, stream.take_padded(size))
    stream.expect_end()


def _entry(name: str, raw: bytes) -> bytes:
    name_field, size_field = name.encode(), b"%011o\0" % len(raw)
    # The lower half of Adler-32 is 1 + the sum of the bytes, for so few of them, at a tenth of the cost of ``sum``.
    checksum = b"%06o\0 " % (_FIXED_SUM - 1 + (zlib.adler32(name_field + size_field) & 0xFFFF))
    name_field = name_field.ljust(_NAME.stop, b"\0")
    padding = bytes(-len(raw) % _TAR_BLOCK)
    return b"".join((name_field, _BEFORE_SIZE, size_field, _AFTER_SIZE, checksum, _USTAR_TAIL, raw, padding))


class _Inflated:
    """The tar inside, inflated as it is needed and counted."""

    def __init__(self, data: bytes) -> None:
        self._inflater = zlib.decompressobj(_GZIP_WBITS)
        self._rest = data
        self._ready = bytearray()
        self._total = 0

    def take(self, size: int) -> bytes:
        while len(self._ready) < size:
            if not self._inflate():
                raise MalformedPack("pack ends in the middle of an entry")
        taken = bytes(self._ready[:size])
        del self._ready[:size]
        return taken

    def take_padded(self, size: int) -> bytes:
        return self.take(size + -size % _TAR_BLOCK)[:size]

    def expect_end(self) -> None:
        """Only a few zeros may follow the first empty header, and nothing the end of the gzip member."""
        while len(self._ready) <= _ZEROS_BEHIND_END_MAX and self._inflate():
            pass
        if self._ready.strip(b"\0") or not self._inflater.eof or self._inflater.unused_data:
            raise MalformedPack("pack goes on behind its end", hint="one gzip member with one tar archive")

    def _inflate(self) -> bool:
        if self._inflater.eof or not self._rest:
            return False
        try:
            piece = self._inflater.decompress(self._rest, READ_CHUNK_BYTES)
        except zlib.error as error:
            raise MalformedPack(f"pack is not gzip: {error}") from None
        self._rest = self._inflater.unconsumed_tail
        self._total += len(piece)
        if self._total > PACK_UNPACKED_BYTES_MAX:
            raise LimitExceeded("pack unpacks to too much", expected=f"at most {PACK_UNPACKED_BYTES_MAX} bytes")
        self._ready += piece
        return bool(piece) or bool(self._rest)


def _checked_size(header: bytes) -> int:
    stored = _octal(header[_CHECKSUM])
    if stored != sum(header) - sum(header[_CHECKSUM]) + 8 * ord(" "):
        raise MalformedPack("pack has a tar header with a wrong checksum")
    size = _octal(header[_SIZE])
    if size > BLOCK_BYTES_MAX:
        raise LimitExceeded(
            "pack holds a block that is too large", expected=f"at most {BLOCK_BYTES_MAX} bytes", found=size
        )
    return size


def _octal(field: bytes) -> int:
    try:
        return int(field.strip(b" \0") or b"0", 8)
    except ValueError:
        raise MalformedPack("pack has a tar header with a malformed number") from None


def _block_hash(header: bytes) -> Multihash:
    if header[_TYPE] not in _REGULAR:
        raise MalformedPack(f"pack holds an entry of type {chr(header[_TYPE])!r}", hint="plain files only")
    name = header[_NAME].rstrip(b"\0")
    if header[257:263] == b"ustar\0" and header[_PREFIX].strip(b"\0"):
        raise MalformedPack("pack holds an entry in a folder", hint="the name is the bare hash")
    try:
        return Multihash.from_text(name.decode("ascii"))
    except (UnicodeDecodeError, MalformedIdentifier):
        raise MalformedPack(f"pack holds an entry named {name[:100]!r}", hint="the name is the bare hash") from None


def _pass_over_pax(records: bytes, *, again: bool) -> None:
    if again:
        raise MalformedPack("pack has one extended header after another", hint="plain ustar entries only")
    if any(key in records for key in _PAX_FORBIDDEN):
        raise MalformedPack("pack overrides the name or size of an entry", hint="plain ustar entries only")


def _checked_block(block_hash: Multihash, raw: bytes) -> bytes:
    found = physical_hash(raw)
    if found != block_hash:
        raise HashMismatch("block in the pack does not hash to its name", expected=block_hash, found=found)
    return raw
