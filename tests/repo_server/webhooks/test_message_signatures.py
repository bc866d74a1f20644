"""What we send is signed so that others' software finds it good, and nothing that was changed."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from http_message_signatures import algorithms
from http_message_signatures.exceptions import InvalidSignature
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.attestation.keys import SigningKey
from repo_server.webhooks.message_signatures import (
    NODE_TAG,
    SECRET_TAG,
    Signer,
    signed_headers,
    signer_of_node,
    signer_of_secret,
)
from tests.repo_server.webhooks.receiver import Heard, checked

KEY = SigningKey(bytes(range(32)))
PUBLIC = Ed25519PublicKey.from_public_bytes(KEY.public.raw)
URL = "https://receiver.example.org/hooks/a?b=c"


def sent(body: bytes, *signers: Signer, url: str = URL, nonce: str = "n0nce") -> Heard:
    headers = signed_headers(url, body, signers, created=int(time.time()), nonce=nonce)
    return Heard("POST", url, headers, body)


@given(st.binary(max_size=2_000), st.text("abcXYZ019-_", min_size=1, max_size=40))
def test_the_node_signs_so_that_others_find_it_good(body: bytes, nonce: str) -> None:
    heard = sent(body, signer_of_node(KEY), nonce=nonce)
    parameters = checked(heard, PUBLIC, tag=NODE_TAG)
    assert (parameters["keyid"], parameters["nonce"], parameters["alg"]) == (KEY.public.did, nonce, "ed25519")


def test_a_shared_secret_signs_beside_it() -> None:
    heard = sent(b"{}", signer_of_node(KEY), signer_of_secret("a secret", "the-webhook"))
    checked(heard, PUBLIC, tag=NODE_TAG)
    parameters = checked(heard, b"a secret", tag=SECRET_TAG, algorithm=algorithms.HMAC_SHA256)
    assert (parameters["keyid"], parameters["alg"]) == ("the-webhook", "hmac-sha256")


@pytest.mark.parametrize(
    "change",
    [
        {"body": b"{} "},
        {"url": "https://receiver.example.org/hooks/other"},
        {"method": "PUT"},
        {"headers": {"Content-Type": "text/plain"}},
        {"headers": {"Content-Digest": "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"}},
    ],
)
def test_what_was_changed_is_found_out(change: dict[str, object]) -> None:
    heard = sent(b"{}", signer_of_node(KEY))
    headers = heard.headers | change.pop("headers", {})  # type: ignore[operator]
    with pytest.raises(InvalidSignature):
        checked(replace(heard, headers=headers, **change), PUBLIC, tag=NODE_TAG)  # type: ignore[arg-type]


def test_another_key_or_secret_did_not_sign_it() -> None:
    heard = sent(b"{}", signer_of_node(KEY), signer_of_secret("a secret", "the-webhook"))
    with pytest.raises(InvalidSignature):
        checked(heard, Ed25519PublicKey.from_public_bytes(SigningKey(bytes(32)).public.raw), tag=NODE_TAG)
    with pytest.raises(InvalidSignature):
        checked(heard, b"another", tag=SECRET_TAG, algorithm=algorithms.HMAC_SHA256)


def test_nobody_signs_where_there_is_no_key() -> None:
    assert set(sent(b"{}").headers) == {"Content-Type", "Content-Digest"}


def test_a_secret_is_not_printed() -> None:
    assert "s3cr3t" not in repr(signer_of_secret("s3cr3t", "x"))
