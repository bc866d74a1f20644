"""IPNS: names in every form, records signed and proved, nothing believed that is not signed."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.errors import InvalidSignature, LimitExceeded, MalformedDag, MalformedIdentifier, OdfError
from opendatafabric.instant import Instant
from opendatafabric.ipfs.cid import Cid, Codec, HashFunction
from opendatafabric.ipfs.dag_cbor import encode_dag_cbor
from opendatafabric.ipfs.ipns import SIGNATURE_PREFIX, IpnsName, IpnsRecord, sign_record, verify_record
from opendatafabric.ipfs.protobuf import bytes_field, number_field
from opendatafabric.multibase import encode_base32
from tests.strategies import edited
from tests.vectors.load import FOLDER

VECTORS = json.loads((FOLDER / "ipfs" / "ipns.json").read_text())
KEY = bytes(range(32))
NAME = IpnsName.from_signing_key(KEY)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
RECORD = IpnsRecord("/ipfs/bafkqaaa", 7, Instant.from_datetime(NOW + timedelta(hours=48)), 60_000_000_000)
keys = st.binary(min_size=32, max_size=32)


def signed(fields: dict[str, object]) -> bytes:
    """A record of ``fields``, rightly signed, whatever they are."""
    data = encode_dag_cbor(fields)  # type: ignore[arg-type]
    signature = Ed25519PrivateKey.from_private_bytes(KEY).sign(SIGNATURE_PREFIX + data)
    return bytes_field(8, signature) + bytes_field(9, data)


FIELDS = {"Sequence": 7, "TTL": 1, "Validity": b"2030-01-01T00:00:00Z", "ValidityType": 0, "Value": b"/ipfs/bafkqaaa"}


def test_a_name_is_the_one_that_kubo_gives_the_key() -> None:
    vector = VECTORS["kubo"]
    assert IpnsName(bytes.fromhex(vector["public_key_hex"])).text == vector["name"]


@given(keys)
def test_every_form_of_a_name_is_read(key: bytes) -> None:
    name = IpnsName(key)
    for text in (name.text, name.peer_id, name.cid.text, name.cid.base16, name.text.upper()):
        assert IpnsName.from_text(text) == name
    assert name.text.startswith("k51qzi5uqu5d")
    assert name.peer_id.startswith("12D3Koo")
    assert name.cid.text.startswith("bafzaajaiaejc")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "bafkqaaa",
        "12D3Koo",
        "12D3",
        "k51",
        Cid(Codec.LIBP2P_KEY, HashFunction.SHA2_256, bytes(32)).text,
        Cid(Codec.LIBP2P_KEY, HashFunction.IDENTITY, b"\x08\x02\x12\x20" + bytes(32)).base36,
        Cid(Codec.RAW, HashFunction.IDENTITY, b"\x08\x01\x12\x20" + bytes(32)).base36,
        encode_base32(b"\x01\x72\x00\x04\x08\x01\x12\x20"),
        "example.org",
    ],
)
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(MalformedIdentifier):
        IpnsName.from_text(text)


def test_a_record_of_another_implementation_is_proved() -> None:
    vector = VECTORS["boxo"]
    name = IpnsName.from_text(vector["name"])
    record = verify_record(name, bytes.fromhex(vector["record_hex"]), now=None)
    assert name.peer_id == vector["peer_id"]
    assert (record.value, record.sequence) == (vector["value"], vector["sequence"])
    assert (str(record.valid_until), record.ttl_ns) == (vector["valid_until"], vector["ttl_ns"])


@given(st.builds(IpnsRecord, st.text(max_size=40), st.integers(0, 2**63), st.just(RECORD.valid_until), st.integers(0)))
def test_a_signed_record_is_proved(record: IpnsRecord) -> None:
    record = IpnsRecord(record.value, record.sequence, record.valid_until, record.ttl_ns % 2**63)
    assert verify_record(NAME, sign_record(record, KEY), now=NOW) == record


def test_the_same_record_is_signed_as_the_same_bytes() -> None:
    assert sign_record(RECORD, KEY) == sign_record(RECORD, KEY)


def test_a_record_of_another_key_is_refused() -> None:
    other = IpnsName.from_signing_key(bytes(32))
    with pytest.raises(InvalidSignature, match="not signed by the key"):
        verify_record(other, sign_record(RECORD, KEY), now=NOW)


def test_a_name_that_is_no_point_of_the_curve_signs_nothing() -> None:
    with pytest.raises(InvalidSignature):
        verify_record(IpnsName(b"\xff" * 32), sign_record(RECORD, KEY), now=NOW)


@pytest.mark.parametrize(("hours", "good"), [(0, True), (48, True), (49, False)])
def test_a_record_is_good_until_it_ends(hours: int, good: bool) -> None:
    now = NOW + timedelta(hours=hours)
    assert RECORD.is_good_at(now) is good
    if good:
        verify_record(NAME, sign_record(RECORD, KEY), now=now)
    else:
        with pytest.raises(InvalidSignature, match="ended"):
            verify_record(NAME, sign_record(RECORD, KEY), now=now)


@given(edited(sign_record(RECORD, KEY)))
def test_a_changed_record_is_refused_or_says_the_same(data: bytes) -> None:
    try:
        record = verify_record(NAME, data, now=NOW)
    except OdfError:
        return
    assert record == RECORD


def test_old_fields_that_say_the_same_are_passed_over() -> None:
    assert verify_record(NAME, bytes_field(1, b"/ipfs/bafkqaaa") + signed(FIELDS), now=NOW).sequence == 7


@pytest.mark.parametrize("field", [bytes_field(1, b"/ipfs/other"), number_field(5, 8), number_field(3, 1)])
def test_old_fields_that_say_something_else_are_refused(field: bytes) -> None:
    with pytest.raises(MalformedDag, match="two things"):
        verify_record(NAME, field + signed(FIELDS), now=NOW)


@pytest.mark.parametrize(
    "changes",
    [
        {"Sequence": -1},
        {"Sequence": True},
        {"Sequence": None},
        {"TTL": "1"},
        {"ValidityType": 1},
        {"Validity": b"tomorrow"},
        {"Validity": "2030-01-01T00:00:00Z"},
        {"Value": b"\xff"},
        {"Value": 1},
    ],
    ids=str,
)
def test_fields_of_another_kind_are_refused_though_signed(changes: dict[str, object]) -> None:
    with pytest.raises(MalformedDag):
        verify_record(NAME, signed(FIELDS | changes), now=NOW)


@pytest.mark.parametrize("data", [b"", bytes_field(8, bytes(64)), bytes_field(9, b"\xa0"), b"\xff", number_field(8, 1)])
def test_what_is_no_record_of_version_2_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedDag):
        verify_record(NAME, data, now=NOW)


def test_a_record_that_is_no_map_is_refused() -> None:
    with pytest.raises(MalformedDag, match="no map"):
        verify_record(NAME, signed([]), now=NOW)  # type: ignore[arg-type]


def test_the_size_of_a_record_is_bounded() -> None:
    with pytest.raises(LimitExceeded, match="too large"):
        verify_record(NAME, bytes(10_241), now=NOW)
