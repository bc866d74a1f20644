"""Packs of blocks: read by any tar, taken from any tar, and refused whole when anything is odd."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import tracemalloc
import zlib
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.codec.block_pack import BackwardsPacker, pack_blocks, unpack_blocks
from opendatafabric.errors import HashMismatch, LimitExceeded, MalformedPack, OdfError
from opendatafabric.limits import BLOCK_BYTES_MAX, PACK_BYTES_MAX
from opendatafabric.multihash import HashCodec, Multihash, physical_hash
from tests.strategies import edited

CONTENTS = [b"", b"seed", b"x" * 511, b"y" * 512, b"z" * 513, bytes(range(256)) * 40]
BLOCKS = [(physical_hash(content), content) for content in CONTENTS]
NAME = str(physical_hash(b"seed"))


def tar_of(*entries: tuple[tarfile.TarInfo, bytes], form: int = tarfile.USTAR_FORMAT) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=form) as archive:
        for entry, content in entries:
            archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


def entry(name: str = NAME, size: int = 4, kind: bytes = tarfile.REGTYPE, **fields: object) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.size = size
    made.type = kind
    for field, value in fields.items():
        setattr(made, field, value)
    return made


def packed(tar: bytes) -> bytes:
    return gzip.compress(tar)


def unpacked(data: bytes, count_max: int = 100) -> list[tuple[Multihash, bytes]]:
    return list(unpack_blocks(data, count_max=count_max))


# There and back


def test_blocks_come_back_in_their_order() -> None:
    assert unpacked(pack_blocks(BLOCKS)) == BLOCKS


def packed_backwards(pieces: int, *, bytes_max: int = PACK_BYTES_MAX) -> BackwardsPacker:
    packer = BackwardsPacker(bytes_max=bytes_max)
    newest_first = [(str(block_hash), content) for block_hash, content in BLOCKS][::-1]
    for start in range(0, len(BLOCKS), len(BLOCKS) // pieces):
        packer.add_all(newest_first[start : start + len(BLOCKS) // pieces])
    return packer


@pytest.mark.parametrize("pieces", [1, 2, 3, 6])
def test_pieces_packed_backwards_are_one_archive(pieces: int) -> None:
    packer = packed_backwards(pieces)
    packed = packer.finish()
    assert packed is not None
    assert len(packed) == packer.size
    assert unpacked(packed) == BLOCKS
    assert gzip.decompress(packed) == gzip.decompress(pack_blocks(BLOCKS))


def test_of_a_pack_that_is_too_large_only_the_size_is_kept() -> None:
    size = packed_backwards(3).size
    assert packed_backwards(3, bytes_max=size).finish() is not None
    assert packed_backwards(3, bytes_max=size - 1).finish() is None
    assert packed_backwards(3, bytes_max=size - 1).size == size


def test_an_empty_pack_is_a_pack() -> None:
    assert unpacked(pack_blocks([])) == []


def test_any_tar_reads_what_is_packed() -> None:
    with tarfile.open(fileobj=io.BytesIO(pack_blocks(BLOCKS)), mode="r:gz") as archive:
        members = [(member.name, archive.extractfile(member)) for member in archive.getmembers()]
        assert [(name, file.read() if file else None) for name, file in members] == [
            (str(block_hash), content) for block_hash, content in BLOCKS
        ]
        assert all(member.isreg() and member.mode == 0o644 for member in archive.getmembers())


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_what_any_tar_packs_is_read(form: int) -> None:
    entries = [(entry(str(block_hash), len(content)), content) for block_hash, content in BLOCKS]

    assert unpacked(packed(tar_of(*entries, form=form))) == BLOCKS


def test_a_pax_header_with_times_alone_is_passed_over() -> None:
    tar = tar_of((entry(mtime=1.5), b"seed"), form=tarfile.PAX_FORMAT)

    assert unpacked(packed(tar)) == [BLOCKS[1]]


def test_bare_gnu_headers_are_read() -> None:
    """Mode, owner and type left as NULs, as the reference writes them."""
    header = bytearray(512)
    header[: len(NAME)] = NAME.encode()
    header[124:135] = b"00000000004"
    header[257:265] = b"ustar  \0"
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)

    assert unpacked(packed(bytes(header) + b"seed".ljust(512, b"\0") + bytes(1024))) == [BLOCKS[1]]


@given(st.lists(st.binary(max_size=2000), max_size=8, unique=True))
def test_any_blocks_come_back(contents: list[bytes]) -> None:
    blocks = [(physical_hash(content), content) for content in contents]

    assert unpacked(pack_blocks(iter(blocks))) == blocks


# Entries that are no blocks


@pytest.mark.parametrize(
    "odd",
    [
        entry("./" + NAME),
        entry("/" + NAME),
        entry("../" + NAME),
        entry("blocks/" + NAME),
        entry("readme.txt"),
        entry(NAME[:-1]),
        entry(NAME + " "),
        entry("f" + "0" * 68),
        entry("x" * 150),
        entry(kind=tarfile.SYMTYPE, linkname="/etc/passwd", size=0),
        entry(kind=tarfile.LNKTYPE, linkname=NAME, size=0),
        entry(kind=tarfile.DIRTYPE, size=0),
        entry(kind=tarfile.CHRTYPE, size=0),
        entry(kind=tarfile.FIFOTYPE, size=0),
        entry(kind=tarfile.CONTTYPE),
        entry(kind=tarfile.GNUTYPE_SPARSE),
        entry(kind=b"Z"),
    ],
    ids=lambda odd: f"{odd.name[:20]}-{odd.type!r}",
)
@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_an_entry_that_is_no_plain_file_named_by_a_hash_is_refused(odd: tarfile.TarInfo, form: int) -> None:
    try:
        tar = tar_of((odd, b"seed"[: odd.size]), form=form)
    except ValueError:
        return  # no header of that form can say it

    with pytest.raises(MalformedPack):
        unpacked(packed(tar))


@pytest.mark.parametrize(
    "record", [{"path": "/etc/passwd"}, {"size": "1"}, {"GNU.sparse.major": "1"}, {"linkpath": "x"}]
)
def test_a_pax_header_that_changes_an_entry_is_refused(record: dict[str, str]) -> None:
    with pytest.raises(MalformedPack):
        unpacked(packed(tar_of((entry(pax_headers=record), b"seed"), form=tarfile.PAX_FORMAT)))


def test_the_same_block_twice_is_refused() -> None:
    with pytest.raises(MalformedPack, match="twice"):
        unpacked(pack_blocks([BLOCKS[1], BLOCKS[2], BLOCKS[1]]))


def test_bytes_that_do_not_hash_to_their_name_are_refused_by_it() -> None:
    with pytest.raises(HashMismatch) as caught:
        unpacked(pack_blocks([(BLOCKS[1][0], b"other")]))

    assert caught.value.expected == NAME


def test_a_name_of_another_digest_is_no_name_of_a_block() -> None:
    other = Multihash(HashCodec.SHA2_256, hashlib.sha256(b"seed").digest())

    with pytest.raises(HashMismatch):
        unpacked(pack_blocks([(other, b"seed")]))


# Archives that are none


@pytest.mark.parametrize(
    "spoil",
    [
        lambda good: good[: len(good) // 2],
        lambda good: good[:-1],
        lambda good: good + b"x",
        lambda good: good + good,
        lambda good: b"",
        lambda good: b"not gzip at all",
        lambda good: zlib.compress(gzip.decompress(good)),
        gzip.decompress,
        lambda good: packed(b""),
        lambda good: packed(gzip.decompress(good)[:-1024]),
        lambda good: packed(gzip.decompress(good) + b"more"),
        lambda good: packed(gzip.decompress(good)[:700]),
        lambda good: packed(b"\xff" * 512 + bytes(1024)),
    ],
)
def test_an_archive_that_is_cut_or_goes_on_is_refused(spoil: Callable[[bytes], bytes]) -> None:
    with pytest.raises(MalformedPack):
        unpacked(spoil(pack_blocks(BLOCKS)))


def test_zeros_behind_the_end_are_what_tar_programs_write() -> None:
    assert unpacked(packed(gzip.decompress(pack_blocks(BLOCKS)) + bytes(10_240))) == BLOCKS


def test_a_header_with_a_wrong_checksum_is_refused() -> None:
    tar = bytearray(tar_of((entry(), b"seed")))
    tar[110] ^= 1

    with pytest.raises(MalformedPack, match="checksum"):
        unpacked(packed(bytes(tar)))


@given(edited(pack_blocks(BLOCKS)))
def test_a_damaged_archive_is_refused_or_gives_true_blocks(data: bytes) -> None:
    try:
        blocks = unpacked(data)
    except OdfError:
        return
    assert all(physical_hash(content) == block_hash for block_hash, content in blocks)


@given(edited(gzip.decompress(pack_blocks(BLOCKS))))
def test_a_damaged_tar_is_refused_or_gives_true_blocks(tar: bytes) -> None:
    try:
        blocks = unpacked(packed(tar))
    except OdfError:
        return
    assert all(physical_hash(content) == block_hash for block_hash, content in blocks)


# Bombs


def test_more_blocks_than_announced_are_refused() -> None:
    with pytest.raises(LimitExceeded, match="announced"):
        unpacked(pack_blocks(BLOCKS), count_max=len(BLOCKS) - 1)
    assert unpacked(pack_blocks(BLOCKS), count_max=len(BLOCKS)) == BLOCKS


def test_an_archive_over_the_limit_is_not_opened() -> None:
    with pytest.raises(LimitExceeded, match="too large"):
        unpacked(bytes(PACK_BYTES_MAX + 1))


@pytest.mark.parametrize("size", [BLOCK_BYTES_MAX + 1, 8**11 - 1])
def test_a_block_over_the_limit_is_refused_by_its_header(size: int) -> None:
    header = entry(size=size).tobuf(tarfile.USTAR_FORMAT)

    with pytest.raises(LimitExceeded):
        unpacked(packed(header))


def test_a_size_beyond_octal_is_refused() -> None:
    with pytest.raises(OdfError):
        unpacked(packed(entry(size=2**40).tobuf(tarfile.GNU_FORMAT)))


@pytest.mark.parametrize("filling", [b"\0", b"x"])
def test_a_bomb_behind_the_end_costs_no_memory(filling: bytes) -> None:
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    piece = filling * (1024 * 1024)
    bomb = b"".join([packer.compress(bytes(1024)), *(packer.compress(piece) for _ in range(60)), packer.flush()])

    assert peak_of(bomb) < 8 * 1024 * 1024


def test_headers_without_end_are_stopped() -> None:
    header = entry("pax", 0, tarfile.XHDTYPE).tobuf(tarfile.USTAR_FORMAT)

    with pytest.raises(MalformedPack, match="one extended header after another"):
        unpacked(packed(header * 10_000))


def test_a_million_empty_entries_are_stopped_at_the_second() -> None:
    header = entry(str(physical_hash(b"")), 0).tobuf(tarfile.USTAR_FORMAT)

    with pytest.raises(MalformedPack, match="twice"):
        unpacked(packed(header * 100_000), count_max=1_000_000)


def peak_of(data: bytes) -> int:
    """Most bytes that refusing ``data`` held at a time."""
    tracemalloc.start()
    try:
        with pytest.raises(OdfError):
            unpacked(data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_packing_takes_blocks_one_by_one() -> None:
    seen: list[int] = []

    def blocks() -> Iterable[tuple[Multihash, bytes]]:
        for index, block in enumerate(BLOCKS):
            seen.append(index)
            yield block

    assert unpacked(pack_blocks(blocks())) == BLOCKS
    assert seen == list(range(len(BLOCKS)))
