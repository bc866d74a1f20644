"""Decompress: what a source gave packed, bounded."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, Final
from zipfile import BadZipFile, ZipFile

from opendatafabric.errors import LimitExceeded, MalformedSource
from opendatafabric.limits import READ_CHUNK_BYTES
from opendatafabric.metadata.sources import CompressionFormat, PrepStepDecompress
from opendatafabric.source_limits import UNPACKED_BYTES_MAX, UNPACKED_BYTES_PER_BYTE_MAX

_GZIP: Final = 16 + zlib.MAX_WBITS


def unpack(file: Path, step: PrepStepDecompress, target: Path) -> None:
    """Write what the file holds to ``target``.

    Raises:
        MalformedSource: no such archive, damaged, or without the one member that is meant.
        LimitExceeded: it would become too large.
    """
    pieces = _gunzipped(file) if step.format is CompressionFormat.GZIP else _unzipped(file, step.sub_path)
    _write(pieces, target, file.stat().st_size)


def _write(pieces: Iterator[bytes], target: Path, packed_bytes: int) -> None:
    most = min(UNPACKED_BYTES_MAX, max(packed_bytes, 1) * UNPACKED_BYTES_PER_BYTE_MAX)
    size = 0
    with target.open("xb") as out:
        for piece in pieces:
            size += len(piece)
            if size > most:
                raise LimitExceeded("the compressed file of the source becomes too large", expected=f"at most {most}")
            out.write(piece)


def _gunzipped(file: Path) -> Iterator[bytes]:
    """All members, one after another, never more than a piece of them in memory."""
    unpacker = zlib.decompressobj(_GZIP)
    for packed in _file_pieces(file):
        raw = packed
        while raw:
            unpacker = zlib.decompressobj(_GZIP) if unpacker.eof else unpacker
            try:
                yield unpacker.decompress(raw, READ_CHUNK_BYTES)
            except zlib.error as error:
                raise MalformedSource(f"the file is no gzip, or damaged: {error}") from None
            raw = unpacker.unconsumed_tail or unpacker.unused_data
    if not unpacker.eof:
        raise MalformedSource("the gzip file is cut off, or empty")


def _file_pieces(file: Path) -> Iterator[bytes]:
    with file.open("rb") as packed:
        yield from _pieces(packed)


def _unzipped(file: Path, pattern: str | None) -> Iterator[bytes]:
    try:
        with ZipFile(file) as archive:
            names = [each for each in archive.namelist() if not each.endswith("/")]
            found = [each for each in names if pattern is None or fnmatchcase(each, pattern)]
            if len(found) != 1:
                raise MalformedSource(
                    f"{len(found)} files of the archive could be meant", found=", ".join(names)[:500], hint="subPath"
                )
            with archive.open(found[0]) as member:
                yield from _pieces(member)
    except (BadZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error) as error:
        raise MalformedSource(f"the file is no zip archive, or damaged: {error}") from None


def _pieces(member: IO[bytes]) -> Iterator[bytes]:
    while piece := member.read(READ_CHUNK_BYTES):
        yield piece
