"""Keys: their names, their forms, and which signatures are theirs."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from opendatafabric.attestation.keys import PublicKey, SigningKey
from opendatafabric.errors import MalformedIdentifier, MalformedInput
from tests.opendatafabric.attestation.signed import key

SECRET = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
PUBLIC = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
"""The first test of RFC 8032."""

SIGNED_NOTHING = bytes.fromhex(
    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
)


def test_a_signature_is_that_of_the_standard() -> None:
    assert SigningKey(SECRET).sign(b"") == SIGNED_NOTHING
    assert SigningKey(SECRET).public == PublicKey(PUBLIC)


def test_a_signature_holds_for_its_message_and_its_key_alone() -> None:
    signature = key(1).sign(b"message")
    assert key(1).public.has_signed(b"message", signature)
    assert not key(1).public.has_signed(b"massage", signature)
    assert not key(2).public.has_signed(b"message", signature)
    assert not key(1).public.has_signed(b"message", signature[:-1])


def test_the_name_of_a_key_holds_it() -> None:
    public = PublicKey(PUBLIC)
    assert public.did.startswith("did:key:z6Mk")
    assert PublicKey.from_did(public.did) == public


@pytest.mark.parametrize("text", ["", "did:key:", "did:web:example.com", "did:odf:fed01", "did:key:zQ3shokFTS3brHcDQ"])
def test_what_names_no_such_key_is_refused(text: str) -> None:
    with pytest.raises(MalformedIdentifier):
        PublicKey.from_did(text)


def test_a_key_is_read_from_a_pem_file() -> None:
    pem = Ed25519PublicKey.from_public_bytes(PUBLIC).public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    assert PublicKey.from_pem(pem) == PublicKey(PUBLIC)


def test_other_files_and_other_kinds_of_keys_are_refused() -> None:
    other = generate_private_key(SECP256R1()).public_key()
    for pem in (b"-----BEGIN nothing", other.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)):
        with pytest.raises(MalformedInput):
            PublicKey.from_pem(pem)


def test_a_secret_key_prints_nothing_of_itself() -> None:
    assert SECRET.hex() not in repr(vars(SigningKey(SECRET)))
    assert "9d61" not in f"{SigningKey(SECRET)!r}{SigningKey(SECRET)!s}"
