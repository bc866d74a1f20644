"""Multibase: strict decoding, the same with libipld and without, and as another implementation decodes."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import multiformats
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric import multibase
from opendatafabric.errors import MalformedIdentifier
from opendatafabric.limits import IDENTIFIER_CHARS_MAX
from opendatafabric.multibase import (
    CID_BASES,
    FINAL_BASES,
    REFERENCE_BASES,
    decode_multibase,
    decode_plainly,
    encode_base16,
    encode_base32,
    encode_base36,
    encode_base58btc,
    encode_base64url,
)
from tests.vectors.load import cases

ENCODERS = {"f": encode_base16, "b": encode_base32, "k": encode_base36, "z": encode_base58btc, "u": encode_base64url}
NAMES = {
    "f": "base16",
    "F": "base16upper",
    "b": "base32",
    "B": "base32upper",
    "k": "base36",
    "K": "base36upper",
    "z": "base58btc",
    "m": "base64",
    "u": "base64url",
    "U": "base64urlpad",
}
LOOSE = [
    "f0",
    "f 00",
    "f0 0",
    "f00\n",
    "f0x00",
    "f٠٠",
    "b8",
    "bm",
    "bmf",
    "bme======",
    "z0",
    "zO",
    "zI",
    "zl",
    "z 1",
    "z1\n",
    "uY",
    "uYR",
    "uYQ=",
    "uYQ==",
    "u+/",
    "u\n",
    "mYQ==",
    "mYR",
    "m-_",
    "UYQ",
    "UYR==",
    "UYQ=",
    "UYQ===",
    "U+/==",
    "zé",
    "bé",
    "m\ud800",
]


def outcome(decode: Any, text: str) -> bytes | None:
    try:
        decoded: bytes = decode(text)
    except (ValueError, MalformedIdentifier):
        return None
    return decoded


@pytest.mark.parametrize("case", cases("ids.json", "multibase", ok=True))
def test_a_text_of_the_vectors_is_decoded(case: dict[str, Any]) -> None:
    assert decode_multibase(case["input"]).hex() == case["expected"]["bytes_hex"]


@pytest.mark.parametrize("case", cases("ids.json", "multibase", ok=False))
def test_a_text_that_the_reference_refuses_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(MalformedIdentifier):
        decode_multibase(case["input"])


def test_libipld_is_in_use_here() -> None:
    assert multibase.NATIVE


@given(st.sampled_from(sorted(FINAL_BASES | CID_BASES)), st.text(alphabet=st.characters(codec="ascii"), max_size=60))
def test_plain_python_decodes_what_libipld_decodes(base: str, text: str) -> None:
    assert outcome(decode_plainly, base + text) == outcome(
        lambda it: decode_multibase(it, FINAL_BASES | CID_BASES), base + text
    )


@given(st.sampled_from(sorted(NAMES)), st.binary(max_size=70))
def test_every_base_is_decoded_as_another_implementation_encodes_it(base: str, data: bytes) -> None:
    text = multiformats.multibase.encode(data, NAMES[base])
    assert decode_multibase(text, FINAL_BASES | CID_BASES) == data
    assert decode_plainly(text) == data


@given(st.sampled_from(sorted(ENCODERS)), st.binary(max_size=70))
def test_what_is_encoded_is_what_another_implementation_encodes(base: str, data: bytes) -> None:
    assert ENCODERS[base](data) == multiformats.multibase.encode(data, NAMES[base])


@given(st.sampled_from("mu"), st.binary(min_size=1, max_size=40), st.integers(0, 63))
def test_a_changed_last_character_is_other_bytes_or_refused(base: str, data: bytes, value: int) -> None:
    text = multiformats.multibase.encode(data, NAMES[base])
    changed = text[:-1] + "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"[value % 62]
    if changed != text:
        for decode in (decode_plainly, lambda it: decode_multibase(it, FINAL_BASES)):
            assert outcome(decode, changed) != data


@pytest.mark.parametrize("text", LOOSE, ids=ascii)
def test_loose_spellings_are_refused_with_libipld_and_without(text: str) -> None:
    with pytest.raises(MalformedIdentifier):
        decode_multibase(text, FINAL_BASES)
    with pytest.raises(ValueError, match=r".*"):
        decode_plainly(text)


@pytest.mark.parametrize("text", ["fAbCd", "FaBcD", "bMfRa", "Bmfra"])
def test_hex_and_base32_are_read_in_either_case(text: str) -> None:
    assert decode_multibase(text, FINAL_BASES) == decode_multibase(text[0] + text[1:].lower(), FINAL_BASES)


def test_the_reference_reads_half_of_the_final_bases() -> None:
    assert "".join(sorted(REFERENCE_BASES)) == "Ffuz"
    assert "".join(sorted(FINAL_BASES - REFERENCE_BASES)) == "BUbm"


@pytest.mark.parametrize("text", ["", "\0", "9", "x00", "Z1", "é", "🦀", "k8", "ｆ00"], ids=ascii)
def test_a_text_without_a_known_base_is_refused(text: str) -> None:
    with pytest.raises(MalformedIdentifier):
        decode_multibase(text, FINAL_BASES)


@pytest.mark.parametrize("base", sorted(FINAL_BASES | CID_BASES))
def test_the_length_of_a_text_is_bounded(base: str) -> None:
    with pytest.raises(MalformedIdentifier):
        decode_multibase(base + "A" * IDENTIFIER_CHARS_MAX, FINAL_BASES | CID_BASES)


def test_the_longest_text_is_read() -> None:
    assert decode_multibase("f" + "0" * (IDENTIFIER_CHARS_MAX - 2)) == bytes((IDENTIFIER_CHARS_MAX - 2) // 2)


def test_without_libipld_the_module_still_decodes() -> None:
    script = (
        "import sys; sys.modules['libipld'] = None\n"
        "from opendatafabric import multibase\n"
        "assert not multibase.NATIVE\n"
        "assert multibase.decode_multibase('z2g') == b'a'\n"
        "try: multibase.decode_multibase('z0')\n"
        "except multibase.MalformedIdentifier: print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "refused\n"
