"""Signatures of heads and hand-overs: they hold for what they say, and for nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.did import DatasetId, new_dataset_id
from opendatafabric.errors import InvalidSignature, MalformedInput
from opendatafabric.head_signature import HandOver, HeadSignature
from opendatafabric.instant import Instant
from opendatafabric.multihash import physical_hash

ID, OTHER_ID = (new_dataset_id(bytes([number]) * 32) for number in (1, 2))
HEAD, AT = physical_hash(b"head"), Instant.from_rfc3339("2026-01-31T12:00:00Z")
SECRET, OTHER = b"\x07" * 32, b"\x08" * 32
SIGNED = HeadSignature.make(ID, HEAD, AT, SECRET)
HANDED = HandOver.make(ID, DatasetId.from_signing_key(OTHER), AT, SECRET)


def test_a_signature_is_what_it_was_when_it_was_made() -> None:
    assert HeadSignature.read(SIGNED.as_dict()) == SIGNED
    assert SIGNED.key == DatasetId.from_signing_key(SECRET)
    assert HandOver.read(HANDED.as_dict()) == HANDED
    nobody = HandOver.make(ID, None, AT, SECRET)
    assert (HandOver.read(nobody.as_dict()), nobody.as_dict()["newKey"]) == (nobody, "nobody")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("datasetId", str(OTHER_ID)),
        ("head", str(physical_hash(b"other"))),
        ("signedAt", "2026-01-31T12:00:01Z"),
        ("key", DatasetId.from_signing_key(OTHER).did_key),
        ("signature", "00" * 64),
        ("signature", HANDED.signature.hex()),
    ],
)
def test_a_signature_of_anything_else_does_not_hold(name: str, value: str) -> None:
    with pytest.raises(InvalidSignature):
        HeadSignature.read({**SIGNED.as_dict(), name: value})


@pytest.mark.parametrize("name", ["datasetId", "oldKey", "newKey", "signedAt", "signature"])
def test_a_hand_over_of_anything_else_does_not_hold(name: str) -> None:
    other = HandOver.make(OTHER_ID, None, Instant.from_rfc3339("2026-02-01T00:00:00Z"), OTHER).as_dict()
    with pytest.raises(InvalidSignature):
        HandOver.read({**HANDED.as_dict(), name: other[name]})


@given(
    st.dictionaries(
        st.sampled_from([*SIGNED.as_dict()]), st.one_of(st.none(), st.integers(), st.text(max_size=200)), min_size=1
    )
)
def test_whatever_is_sent_is_told_to_be_no_signature(changed: dict[str, object]) -> None:
    told = {**SIGNED.as_dict(), **changed}
    if told == SIGNED.as_dict():
        return
    with pytest.raises((MalformedInput, InvalidSignature)):
        HeadSignature.read(told)
