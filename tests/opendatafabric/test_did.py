"""Identities of datasets and accounts: all texts and bytes of the vectors, and keys made here."""

from __future__ import annotations

from typing import Any

import multiformats
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.did import AccountId, DatasetId, new_dataset_id
from opendatafabric.errors import MalformedIdentifier
from opendatafabric.multibase import FINAL_BASES, encode_base58btc, encode_base64url
from tests.vectors.load import cases

READERS = {
    "did_odf": DatasetId.from_text,
    "did_key": DatasetId.from_did_key,
    "did_odf_multibase": DatasetId.from_multibase,
    "did_bytes": lambda text: DatasetId.from_bytes(bytes.fromhex(text)),
    "ed25519_secret": lambda text: DatasetId.from_signing_key(bytes.fromhex(text)),
}
GOOD = [
    pytest.param(kind, *case.values, id=f"{kind} {case.id}")
    for kind in READERS
    for case in cases("ids.json", kind, ok=True)
]
BAD = [
    pytest.param(kind, *case.values, id=f"{kind} {case.id}")
    for kind in READERS
    for case in cases("ids.json", kind, ok=False)
]
ids = st.binary(min_size=32, max_size=32).map(DatasetId.from_public_key)
ID = DatasetId.from_public_key(bytes(32))


def forms(found: DatasetId) -> dict[str, str]:
    """Every field that the vectors know."""
    return {
        "bytes_hex": bytes(found).hex(),
        "did_key": found.did_key,
        "did_odf": str(found),
        "did_odf_base58btc": f"did:odf:{encode_base58btc(bytes(found))}",
        "did_odf_base64url": f"did:odf:{encode_base64url(bytes(found))}",
        "public_key_hex": found.public_key.hex(),
    }


@pytest.mark.parametrize(("kind", "case"), GOOD)
def test_an_id_of_the_vectors_is_read(kind: str, case: dict[str, Any]) -> None:
    found = READERS[kind](case["input"])
    assert {name: value for name, value in forms(found).items() if name in case["expected"]} == case["expected"]


@pytest.mark.parametrize(("kind", "case"), BAD)
def test_a_bad_id_of_the_vectors_is_refused(kind: str, case: dict[str, Any]) -> None:
    with pytest.raises(MalformedIdentifier):
        READERS[kind](case["input"])


@pytest.mark.parametrize("case", cases("ids.json", "test_seed"))
def test_the_test_identifiers_of_the_reference_survive_every_form(case: dict[str, Any]) -> None:
    expected = case["expected"]
    found = DatasetId.from_bytes(bytes.fromhex(expected["bytes_hex"]))
    assert {name: value for name, value in forms(found).items() if name in expected} == expected
    for text in (expected["did_odf"], expected["did_odf_base58btc"], expected["did_odf_base64url"]):
        assert DatasetId.from_text(text) == found


@pytest.mark.parametrize("case", cases("ids.json", "account_id", ok=True))
def test_an_account_id_of_the_vectors_is_read(case: dict[str, Any]) -> None:
    found = AccountId.from_text(case["input"])
    assert {"canonical": str(found), "method": found.method, "without_did_prefix": found.bare} == case["expected"]


@pytest.mark.parametrize("case", cases("ids.json", "account_id", ok=False))
def test_a_bad_account_id_of_the_vectors_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(MalformedIdentifier):
        AccountId.from_text(case["input"])


@given(ids)
def test_an_id_is_read_from_each_of_its_forms(original: DatasetId) -> None:
    assert DatasetId.from_bytes(bytes(original)) == original
    assert DatasetId.from_text(str(original)) == original
    assert DatasetId.from_multibase(original.multibase) == original
    assert DatasetId.from_did_key(original.did_key) == original
    assert str(AccountId.from_text(str(original))) == str(original)
    assert hash(DatasetId.from_did_key(original.did_key)) == hash(original)


@given(ids)
def test_the_canonical_text_is_77_characters_of_lower_case(original: DatasetId) -> None:
    text = str(original)
    assert len(text) == 77
    assert text == text.lower()
    assert text == "did:odf:" + original.multibase
    assert original.multibase.startswith("fed01")


@given(ids, st.sampled_from(["base32", "base32upper", "base64", "base64urlpad"]))
def test_the_other_bases_of_the_specification_are_read_where_asked_for(original: DatasetId, base: str) -> None:
    text = "did:odf:" + multiformats.multibase.encode(bytes(original), base)
    assert DatasetId.from_text(text, FINAL_BASES) == original
    with pytest.raises(MalformedIdentifier):
        DatasetId.from_text(text)


@given(ids, ids)
def test_ids_order_as_their_texts_do(one: DatasetId, other: DatasetId) -> None:
    assert (one < other) == (str(one) < str(other))


@given(st.binary(max_size=40))
def test_any_bytes_are_refused_or_the_bytes_of_their_id(data: bytes) -> None:
    try:
        found = DatasetId.from_bytes(data)
    except MalformedIdentifier:
        return
    assert bytes(found) == data


@given(
    st.text(max_size=80) | st.text(max_size=80).map("did:odf:f".__add__) | st.text(max_size=80).map("did:pkh:a".__add__)
)
def test_any_text_is_refused_or_an_id(text: str) -> None:
    for read in (DatasetId.from_text, DatasetId.from_did_key, DatasetId.from_multibase, AccountId.from_text):
        try:
            found = read(text)
        except MalformedIdentifier:
            continue
        assert str(found)


@pytest.mark.parametrize(
    "text",
    [
        str(ID) + "\n",
        str(ID) + "\0",
        str(ID) + " ",
        "\ufeff" + str(ID),
        str(ID).upper(),
        "Did:odf:" + ID.multibase,
        "did:odf:" + ID.multibase[:-1] + "０",
        "did:odf:" + ID.multibase[:-1] + "О",
        "dіd:odf:" + ID.multibase,
        "did:odf:did:odf:" + ID.multibase,
        "did:odf:" + "f" * 10_000_000,
        "did:odf:" + "z" * 10_000_000,
        "did:pkh:" + "a" * 10_000_000,
        "did:pkh:eip155:1:0xab\n",
        "did:pkh:eip155:1:0xаb",
        "did:pkh:eip155:1:../../etc",
        "did:pkh:EIP155:1:0xab",
    ],
    ids=lambda text: f"{ascii(text)[:24]}-{len(text)}",
)
def test_a_lookalike_of_an_id_is_refused_in_short_words(text: str) -> None:
    for read in (DatasetId.from_text, AccountId.from_text):
        with pytest.raises(MalformedIdentifier) as refused:
            read(text)
        assert len(refused.value.message) < 500


@pytest.mark.parametrize("length", [0, 31, 33, 64])
def test_a_private_key_of_another_length_is_refused(length: int) -> None:
    with pytest.raises(MalformedIdentifier, match="private key"):
        DatasetId.from_signing_key(bytes(length))


@given(st.binary(min_size=32, max_size=32))
def test_a_new_id_is_the_public_key_of_the_randomness_given(secret: bytes) -> None:
    assert new_dataset_id(secret) == DatasetId.from_signing_key(secret)
    assert secret not in bytes(new_dataset_id(secret))
