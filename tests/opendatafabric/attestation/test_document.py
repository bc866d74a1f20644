"""Key documents: as everybody reads JSON Web Keys, and when a key counts."""

from __future__ import annotations

import base64

import orjson
import pytest

from opendatafabric.attestation.document import TrustedKey, key_document, read_key_document
from opendatafabric.errors import LimitExceeded, MalformedInput
from opendatafabric.instant import Instant
from opendatafabric.limits import ATTESTATIONS_BYTES_MAX
from tests.opendatafabric.attestation.signed import NOON, key

RETIRED = TrustedKey(key(1).public, Instant.from_rfc3339("2026-05-01T10:00:00Z"), NOON)
IN_USE = TrustedKey(key(2).public, NOON)


def test_a_document_is_a_json_web_key_set() -> None:
    (told,) = key_document([RETIRED])["keys"]
    assert (told["kty"], told["crv"], told["alg"], told["use"]) == ("OKP", "Ed25519", "EdDSA", "sig")
    assert base64.urlsafe_b64decode(told["x"] + "=") == key(1).public.raw
    assert told["kid"] == key(1).public.did
    assert (told["validFrom"], told["validUntil"]) == ("2026-05-01T10:00:00Z", "2026-05-01T12:00:00Z")


def test_keys_come_back_from_a_document() -> None:
    assert read_key_document(orjson.dumps(key_document([IN_USE, RETIRED]))) == [IN_USE, RETIRED]


def test_keys_of_other_kinds_are_passed_over() -> None:
    keys = [{"kty": "RSA", "n": "…"}, *key_document([IN_USE])["keys"]]
    assert read_key_document(orjson.dumps({"keys": keys})) == [IN_USE]


@pytest.mark.parametrize(
    "document",
    [b"", b"[]", b"{}", b'{"keys": 5}', b'{"keys": [5]}', b'{"keys": [{"crv": "Ed25519"}]}',
     b'{"keys": [{"crv": "Ed25519", "x": "AAAA"}]}', b'{"keys": [{"crv": "Ed25519", "x": 5}]}'],
)  # fmt: skip
def test_what_is_no_key_document_is_refused(document: bytes) -> None:
    with pytest.raises(MalformedInput) as refused:
        read_key_document(document)
    assert refused.value.code == "malformed-input"


def test_a_document_that_is_too_long_is_refused() -> None:
    with pytest.raises(LimitExceeded):
        read_key_document(b" " * (ATTESTATIONS_BYTES_MAX + 1))


@pytest.mark.parametrize(
    ("moment", "counts"),
    [
        ("2026-05-01T09:58:59Z", False),
        ("2026-05-01T09:59:00Z", True),
        ("2026-05-01T11:00:00Z", True),
        ("2026-05-01T12:01:00Z", True),
        ("2026-05-01T12:01:01Z", False),
    ],
)
def test_a_retired_key_counts_for_its_time_give_or_take_a_minute(moment: str, counts: bool) -> None:
    assert RETIRED.counts_at(Instant.from_rfc3339(moment)) is counts
    assert TrustedKey(key(1).public).counts_at(Instant.from_rfc3339(moment))


def test_a_time_at_the_end_of_the_calendar_is_refused() -> None:
    with pytest.raises(MalformedInput):
        RETIRED.counts_at(Instant.from_rfc3339("9999-12-31T23:59:59Z"))
