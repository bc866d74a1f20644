"""CIDs: every text form, as another implementation writes them, and nothing that cannot be checked."""

from __future__ import annotations

import hashlib

import multiformats
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.errors import HashMismatch, MalformedIdentifier
from opendatafabric.ipfs.cid import (
    Cid,
    Codec,
    HashFunction,
    cid_of_block,
    cid_of_object,
    is_cid_text,
    read_cid,
)
from opendatafabric.multihash import HashCodec, Multihash, physical_hash

digests = st.binary(min_size=32, max_size=32)
cids = st.builds(
    Cid,
    st.sampled_from(list(Codec)),
    st.sampled_from([HashFunction.SHA2_256, HashFunction.SHA3_256]),
    digests,
) | st.builds(lambda digest: Cid(Codec.DAG_PB, HashFunction.SHA2_256, digest, 0), digests)


@given(cids)
def test_a_cid_is_read_from_its_bytes_and_its_text(cid: Cid) -> None:
    assert Cid.from_bytes(bytes(cid)) == cid
    assert Cid.from_text(cid.text) == cid


@given(cids.filter(lambda cid: cid.version == 1))
def test_base16_and_base36_name_the_same_cid(cid: Cid) -> None:
    assert Cid.from_text(cid.base16) == Cid.from_text(cid.base36) == Cid.from_text(cid.base36.upper()) == cid


@given(cids)
def test_another_implementation_reads_the_same(cid: Cid) -> None:
    theirs = multiformats.CID.decode(cid.text)
    assert (theirs.version, theirs.codec.code, theirs.hashfun.code) == (cid.version, cid.codec, cid.function)
    assert theirs.raw_digest == cid.digest
    assert theirs.encode() == cid.text


@given(cids, st.binary(max_size=5))
def test_a_cid_is_read_where_it_stands(cid: Cid, rest: bytes) -> None:
    assert read_cid(b"xy" + bytes(cid) + rest, 2) == (cid, 2 + len(bytes(cid)))


def test_a_physical_hash_gives_the_cid_of_the_raw_block() -> None:
    cid = cid_of_object(physical_hash(b"odf"))
    assert cid.base16 == "f0155" + str(physical_hash(b"odf")).removeprefix("f")
    assert cid.text.startswith("bafkrmi")
    assert cid.multihash == physical_hash(b"odf")
    cid.check(b"odf")


def test_a_logical_hash_has_no_cid() -> None:
    with pytest.raises(MalformedIdentifier, match="no physical hash"):
        cid_of_object(Multihash(HashCodec.ARROW0_SHA3_256, bytes(32)))


def test_a_cid_of_sha2_says_no_physical_hash() -> None:
    assert cid_of_block(b"odf").multihash is None


@given(st.binary(max_size=100), st.sampled_from([HashFunction.SHA2_256, HashFunction.SHA3_256]))
def test_a_block_matches_its_cid_alone(data: bytes, function: HashFunction) -> None:
    cid = cid_of_block(data, function=function)
    assert cid.matches(data)
    assert not cid.matches(data + b"\0")
    with pytest.raises(HashMismatch, match=cid.text):
        cid.check(b"other" + data)


def test_the_probe_of_gateways_is_an_empty_block_inside_its_cid() -> None:
    probe = Cid.from_text("bafkqaaa")
    assert probe == Cid(Codec.RAW, HashFunction.IDENTITY, b"")
    assert probe.matches(b"")
    assert not probe.matches(b"\0")


def test_a_cid_of_version_0_is_the_bare_multihash_in_base58() -> None:
    cid = Cid.from_text("QmbWqxBEKC3P8tqsKc98xmWNzrzDtRLMiMPL8wBuTGsMnR")
    assert (cid.version, cid.codec) == (0, Codec.DAG_PB)
    assert bytes(cid)[:2] == b"\x12\x20"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Qm",
        "zQmbWqxBEKC3P8tqsKc98xmWNzrzDtRLMiMPL8wBuTGsMnR",
        "b",
        "bafkq",
        "m" + "AAAA",
        "f01551220" + "00" * 31,
        "f01551220" + "00" * 33,
        "f02551220" + "00" * 32,
        "f01551320" + "00" * 64,
        "f01901e1220" + "00" * 32,
        "f015500ff01" + "00" * 255,
        "f8180808080808080808001",
        "é",
        "b" * 2_000,
    ],
)
def test_what_is_no_cid_is_refused(text: str) -> None:
    assert not is_cid_text(text)
    with pytest.raises(MalformedIdentifier):
        Cid.from_text(text)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_cid_or_refused(data: bytes) -> None:
    try:
        cid = Cid.from_bytes(data)
    except MalformedIdentifier:
        return
    assert bytes(cid) == data


def test_the_digest_is_that_of_the_standard_library() -> None:
    assert cid_of_block(b"odf").digest == hashlib.sha256(b"odf").digest()
