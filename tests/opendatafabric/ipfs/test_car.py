"""CAR archives: byte for byte as others write them, checked block by block as they come in."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.errors import HashMismatch, LimitExceeded, MalformedDag, OdfError
from opendatafabric.ipfs.car import CarReader, car_header, car_section, read_car, write_car
from opendatafabric.ipfs.cid import Block, Cid, Codec, HashFunction, cid_of_block
from opendatafabric.ipfs.dag_cbor import encode_dag_cbor
from opendatafabric.ipfs.hamt import import_folder
from opendatafabric.ipfs.unixfs import import_file
from opendatafabric.ipfs.walk import run, walk_dag
from opendatafabric.limits import CAR_HEADER_BYTES_MAX
from opendatafabric.varint import encode_varint
from tests.strategies import edited
from tests.vectors.load import FOLDER

VECTOR = json.loads((FOLDER / "ipfs" / "car.json").read_text())
blocks = st.builds(
    lambda data, function: Block(cid_of_block(data, function=function), data),
    st.binary(max_size=50),
    st.sampled_from([HashFunction.SHA2_256, HashFunction.SHA3_256]),
)
CID = cid_of_block(b"odf")


def car(several: list[Block]) -> bytes:
    return b"".join(write_car([block.cid for block in several[:2]], several))


def test_an_archive_of_another_implementation_is_read() -> None:
    roots, found = read_car(bytes.fromhex(VECTOR["car_hex"]))
    by_cid = {block.cid: block.data for block in found}
    assert [root.text for root in roots] == [VECTOR["root"]]
    run(walk_dag(roots[0]), by_cid.__getitem__)  # every block is there
    assert {text.encode() for text in VECTOR["files"].values()} <= set(by_cid.values())


def test_the_same_folder_has_the_root_that_the_archive_names() -> None:
    files = {name: import_file(text.encode(), lambda _: None) for name, text in VECTOR["files"].items()}
    data = import_folder({"f1": files["data/f1"], "f2": files["data/f2"]}, lambda _: None)
    assert import_folder({"data": data, "head": files["head"]}, lambda _: None).cid.text == VECTOR["root"]


def test_the_header_and_each_block_are_written_as_another_implementation_writes_them() -> None:
    theirs = bytes.fromhex(VECTOR["car_hex"])
    roots, found = read_car(theirs)
    assert b"".join(write_car(roots, found)) == theirs


@given(st.lists(blocks, min_size=1, max_size=6), st.integers(1, 70))
def test_pieces_of_any_size_give_the_same_blocks(several: list[Block], piece: int) -> None:
    archive, reader = car(several), CarReader()
    found = [block for start in range(0, len(archive), piece) for block in reader.feed(archive[start : start + piece])]
    reader.finish()
    assert found == several
    assert reader.roots == tuple(block.cid for block in several[:2])


@given(st.lists(blocks, min_size=1, max_size=3).flatmap(lambda several: edited(car(several))))
def test_changed_archives_give_checked_blocks_or_a_typed_error(archive: bytes) -> None:
    try:
        _, found = read_car(archive)
    except OdfError:
        return
    assert all(block.cid.matches(block.data) for block in found)


def test_a_block_that_is_not_what_its_cid_says_is_refused() -> None:
    archive = car_header([CID]) + car_section(CID, 3) + b"odg"
    with pytest.raises(HashMismatch, match=CID.text):
        read_car(archive)


@pytest.mark.parametrize("cut", [1, 30, 70, 98])
def test_a_cut_archive_is_refused(cut: int) -> None:
    archive = car_header([CID]) + car_section(CID, 3) + b"odf"
    with pytest.raises(MalformedDag, match="in the middle"):
        read_car(archive[:-cut])


def test_an_empty_archive_is_refused() -> None:
    with pytest.raises(MalformedDag, match="in the middle"):
        read_car(b"")
    with pytest.raises(MalformedDag, match="header"):
        _ = CarReader().roots


@pytest.mark.parametrize(
    "header",
    [
        encode_dag_cbor([]),
        encode_dag_cbor({"roots": [CID], "version": 2}),
        encode_dag_cbor({"roots": [1], "version": 1}),
        encode_dag_cbor({"roots": CID, "version": 1}),
        encode_dag_cbor({"version": 1}),
        encode_dag_cbor({"roots": [], "version": 1, "x": 1}),
        b"\xff",
    ],
    ids=bytes.hex,
)
def test_another_header_is_refused(header: bytes) -> None:
    with pytest.raises(MalformedDag):
        read_car(encode_varint(len(header)) + header)


@pytest.mark.parametrize("section", [b"\0", b"\x81\0", b"\x03\x01\x55\x12", b"\x02\x02\x55"], ids=bytes.hex)
def test_a_malformed_section_is_refused(section: bytes) -> None:
    with pytest.raises(MalformedDag):
        read_car(car_header([CID]) + section)


def test_a_length_that_never_ends_is_refused_at_once() -> None:
    reader = CarReader()
    with pytest.raises(MalformedDag, match="length"):
        list(reader.feed(b"\xff" * 9))


def test_a_section_or_header_that_is_too_large_is_refused_before_it_has_come() -> None:
    with pytest.raises(LimitExceeded, match="too large"):
        list(CarReader().feed(encode_varint(CAR_HEADER_BYTES_MAX + 1)))
    with pytest.raises(LimitExceeded, match="too large"):
        read_car(car_header([CID]) + encode_varint(1_000), block_bytes_max=100)


def test_a_block_of_the_largest_size_is_read() -> None:
    block = Block(cid_of_block(bytes(100)), bytes(100))
    assert read_car(car([block]), block_bytes_max=100)[1] == [block]


def test_blocks_are_taken_only_as_they_are_written() -> None:
    taken: list[Cid] = []

    def source() -> Iterator[Block]:
        for data in (b"a", b"b"):
            taken.append(cid_of_block(data))
            yield Block(taken[-1], data)

    archive = write_car([CID], source())
    next(archive)
    assert not taken
    next(archive)
    assert taken == [cid_of_block(b"a", Codec.RAW)]
