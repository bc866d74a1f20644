"""Multihashes in bytes and text, as the reference reads and writes them; multiformats as a second opinion."""

from __future__ import annotations

import hashlib
from typing import Any

import multiformats
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.errors import MalformedIdentifier
from opendatafabric.limits import DIGEST_BYTES_MAX
from opendatafabric.multibase import FINAL_BASES, encode_base16, encode_base32, encode_base58btc, encode_base64url
from opendatafabric.multihash import HashCodec, Hasher, Multihash, physical_hash
from tests.vectors.load import cases

digests = st.binary(max_size=DIGEST_BYTES_MAX)
multihashes = st.builds(Multihash, st.sampled_from(HashCodec), digests)


def forms(found: Multihash) -> dict[str, Any]:
    """Every field that the vectors know."""
    data = bytes(found)
    return {
        "base16": str(found),
        "base58btc": encode_base58btc(data),
        "base64url": encode_base64url(data),
        "bytes_hex": data.hex(),
        "code": int(found.codec),
        "codec": found.codec.label,
        "digest_hex": found.digest.hex(),
        "short": found.short or None,  # the reference has no short form of nothing
    }


@pytest.mark.parametrize("case", cases("ids.json", "multihash", ok=True))
def test_a_text_of_the_vectors_is_read(case: dict[str, Any]) -> None:
    assert forms(Multihash.from_text(case["input"])) == case["expected"]


@pytest.mark.parametrize("case", cases("ids.json", "multihash", ok=False))
def test_a_bad_text_of_the_vectors_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(MalformedIdentifier):
        Multihash.from_text(case["input"])


@pytest.mark.parametrize("case", cases("ids.json", "multihash_bytes", ok=True))
def test_bytes_of_the_vectors_are_read(case: dict[str, Any]) -> None:
    assert forms(Multihash.from_bytes(bytes.fromhex(case["input"]))) == case["expected"]


@pytest.mark.parametrize("case", cases("ids.json", "multihash_bytes", ok=False))
def test_bad_bytes_of_the_vectors_are_refused(case: dict[str, Any]) -> None:
    with pytest.raises(MalformedIdentifier):
        Multihash.from_bytes(bytes.fromhex(case["input"]))


@pytest.mark.parametrize("case", cases("ids.json", "multihash_of_utf8"))
def test_the_physical_hash_of_a_text_is_that_of_the_vectors(case: dict[str, Any]) -> None:
    assert forms(physical_hash(case["input"].encode())) == case["expected"]


@given(multihashes)
def test_every_multihash_survives_bytes_and_every_text_form_of_the_reference(original: Multihash) -> None:
    data = bytes(original)
    assert Multihash.from_bytes(data) == original
    for text in (str(original), str(original).upper(), encode_base58btc(data), encode_base64url(data)):
        assert Multihash.from_text(text) == original


@given(digests)
def test_text_in_base32_is_a_hash_only_where_asked_for(digest: bytes) -> None:
    original = Multihash(HashCodec.SHA3_256, digest)
    text = encode_base32(bytes(original))
    assert Multihash.from_text(text, FINAL_BASES) == original
    with pytest.raises(MalformedIdentifier):
        Multihash.from_text(text)


@given(st.binary(max_size=60))
def test_any_bytes_are_either_refused_or_the_only_form_of_their_hash(data: bytes) -> None:
    try:
        found = Multihash.from_bytes(data)
    except MalformedIdentifier:
        return
    assert bytes(found) == data


@given(st.text(max_size=100))
def test_any_text_is_either_refused_or_a_hash(text: str) -> None:
    try:
        found = Multihash.from_text(text)
    except MalformedIdentifier:
        return
    assert Multihash.from_text(str(found)) == found


@given(st.binary(max_size=200))
def test_another_implementation_agrees_on_sha3_256(data: bytes) -> None:
    theirs = multiformats.multihash.digest(data, "sha3-256")
    assert bytes(physical_hash(data)) == theirs
    assert multiformats.multibase.decode(str(physical_hash(data))) == theirs


@pytest.mark.parametrize(
    "text",
    [
        "f1620" + "0" * 63,
        "f1620" + "0" * 65,
        "f1620" + "0" * 63 + "\n",
        "f1620" + "0" * 63 + "\0",
        "f1620" + "0" * 62 + "0x",
        "f1620" + "0" * 60 + " 0 0",
        "f1620" + "٠" * 64,
        "f1620" + "０" * 64,
        "f1620" + "0" * 63 + "۰",
        "ｆ1620" + "0" * 64,
        "f" * 10_000_000,
        "z" * 10_000_000,
    ],
    ids=lambda text: f"{text[:9]}…{len(text)}",
)
def test_a_lookalike_of_a_hash_is_refused(text: str) -> None:
    with pytest.raises(MalformedIdentifier) as refused:
        Multihash.from_text(text)
    assert len(refused.value.message) < 500


def test_an_unknown_codec_is_named() -> None:
    with pytest.raises(MalformedIdentifier, match="0x14"):
        Multihash.from_text("f1420" + "0" * 64)


def test_a_digest_of_the_longest_length_is_read_and_one_byte_more_is_not() -> None:
    longest = Multihash(HashCodec.SHA3_256, bytes(DIGEST_BYTES_MAX))
    assert Multihash.from_bytes(bytes(longest)) == longest
    with pytest.raises(MalformedIdentifier):
        Multihash.from_bytes(bytes(Multihash(HashCodec.SHA3_256, bytes(DIGEST_BYTES_MAX + 1))))


@given(st.lists(st.binary(max_size=50)))
def test_a_hash_taken_in_pieces_is_the_hash_of_the_whole(pieces: list[bytes]) -> None:
    hasher = Hasher()
    for piece in pieces:
        hasher.update(piece)
    assert hasher.finish() == physical_hash(b"".join(pieces))
    assert hasher.size == len(b"".join(pieces))


def test_the_hasher_counts_bytes_of_a_view_of_wider_items() -> None:
    hasher = Hasher()
    hasher.update(memoryview(bytes(16)).cast("Q"))
    assert hasher.size == 16


def test_a_hasher_may_go_on_after_it_was_asked() -> None:
    hasher = Hasher()
    hasher.update(b"a")
    assert hasher.finish() == physical_hash(b"a")
    hasher.update(b"b")
    assert hasher.finish() == physical_hash(b"ab")


def test_the_physical_hash_is_plain_sha3_256() -> None:
    assert physical_hash(b"hello").digest == hashlib.sha3_256(b"hello").digest()
    assert str(physical_hash(b"hello")) == encode_base16(b"\x16\x20" + hashlib.sha3_256(b"hello").digest())
