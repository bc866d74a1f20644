"""Envelopes: signed as DSSE says, by an independent library too; every changed byte is noticed."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from securesystemslib.dsse import Envelope as OtherEnvelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import CryptoSigner, SSlibKey

from opendatafabric.attestation.dsse import (
    Envelope,
    Signature,
    pre_authentication_encoding,
    read_envelope,
    signed_envelope,
)
from opendatafabric.attestation.keys import PublicKey
from opendatafabric.errors import LimitExceeded, MalformedInput
from opendatafabric.limits import ATTESTATION_BYTES_MAX, ATTESTATION_SIGNATURES_MAX
from tests.opendatafabric.attestation.signed import key, signed


def other_key(public: PublicKey) -> SSlibKey:
    """The key, as the other library has it."""
    return SSlibKey(public.did, "ed25519", "ed25519", {"public": public.raw.hex()})


def test_what_is_signed_is_the_encoding_of_the_specification() -> None:
    expected = b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    assert pre_authentication_encoding("http://example.com/HelloWorld", b"hello world") == expected


@given(st.text(max_size=50), st.binary(max_size=200))
def test_another_library_takes_our_envelopes(kind: str, payload: bytes) -> None:
    envelope = signed_envelope(kind, payload, key())
    other = OtherEnvelope.from_dict(orjson.loads(envelope.as_json()))
    assert other.verify([other_key(key().public)], 1)
    with pytest.raises(VerificationError):
        OtherEnvelope.from_dict(envelope.as_dict()).verify([other_key(key(2).public)], 1)


def test_we_take_envelopes_of_another_library() -> None:
    signer = CryptoSigner.generate_ed25519()
    other = OtherEnvelope(b"hello", "text/plain", {})
    other.sign(signer)
    envelope = read_envelope(orjson.dumps(other.to_dict()))
    assert envelope.payload == b"hello"
    assert envelope.is_signed_by(PublicKey(bytes.fromhex(signer.public_key.keyval["public"])))


@given(st.data())
def test_any_changed_byte_is_noticed(data: Any) -> None:
    envelope = signed()
    part = data.draw(st.sampled_from(["payload", "signature"]))
    content = bytearray(envelope.payload if part == "payload" else envelope.signatures[0].value)
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    changed = (
        Envelope(envelope.payload_type, bytes(content), envelope.signatures)
        if part == "payload"
        else Envelope(envelope.payload_type, envelope.payload, (Signature("", bytes(content)),))
    )
    assert envelope.is_signed_by(key().public)
    assert not changed.is_signed_by(key().public)


def test_another_type_of_the_same_payload_is_noticed() -> None:
    envelope = signed()
    assert not Envelope("text/plain", envelope.payload, envelope.signatures).is_signed_by(key().public)


def test_whose_signature_it_is_does_not_follow_from_what_it_says() -> None:
    envelope = signed(2)
    claimed = Envelope(
        envelope.payload_type, envelope.payload, (Signature(key(1).public.did, envelope.signatures[0].value),)
    )
    assert not claimed.is_signed_by(key(1).public)
    assert claimed.is_signed_by(key(2).public)


def test_an_envelope_comes_back_from_its_json() -> None:
    assert read_envelope(signed().as_json()) == signed()


def test_both_alphabets_of_base64_are_read() -> None:
    envelope = signed_envelope("text/plain", b"\xff\xfe\xfb" * 5, key())
    text = envelope.as_json().replace(b"+", b"-").replace(b"//", b"__")
    assert read_envelope(text).payload == envelope.payload


@pytest.mark.parametrize(
    "changes",
    [
        {"payload": None},
        {"payload": "no base64!"},
        {"payload": "aGVsbG9="},
        {"payload": "aGVsbG"},
        {"payloadType": 5},
        {"signatures": []},
        {"signatures": {}},
        {"signatures": ["text"]},
        {"signatures": [{"keyid": 1, "sig": ""}]},
        {"signatures": [{"keyid": "a"}]},
    ],
)
def test_what_is_no_envelope_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(MalformedInput):
        read_envelope(orjson.dumps({**signed().as_dict(), **changes}))


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b"{", b"\xff", b"[" * 100_000])
def test_other_json_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedInput):
        read_envelope(data)


def test_what_is_too_long_or_signed_too_often_is_refused() -> None:
    many = {**signed().as_dict(), "signatures": [{"sig": ""}] * (ATTESTATION_SIGNATURES_MAX + 1)}
    for data in (b" " * (ATTESTATION_BYTES_MAX + 1), orjson.dumps(many)):
        with pytest.raises(LimitExceeded):
            read_envelope(data)
