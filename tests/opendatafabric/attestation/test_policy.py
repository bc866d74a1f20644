"""Whose word counts: trusted keys alone, each once, as many as must agree."""

from __future__ import annotations

import pytest

from opendatafabric.attestation.document import TrustedKey
from opendatafabric.attestation.dsse import signed_envelope
from opendatafabric.attestation.policy import judge
from opendatafabric.attestation.verdict import Verdict
from opendatafabric.errors import InvalidSignature, MalformedInput
from opendatafabric.instant import Instant
from tests.opendatafabric.attestation.signed import HEAD, NOON, OLDER_HEAD, key, signed
from tests.storage.chains import dataset_id

TRUSTED = [TrustedKey(key(number).public) for number in (1, 2, 3)]
LATER = Instant.from_rfc3339("2026-05-01T13:00:00Z")


def test_one_trusted_key_is_enough_unless_more_are_asked_for() -> None:
    judgement = judge([signed(1)], TRUSTED)
    assert (judgement.dataset_id, judgement.agreed.head) == (dataset_id(1), HEAD)
    assert judgement.agreed.verdict is Verdict.VALID
    assert judgement.agreed.signers == (key(1).public,)
    assert judgement.others == ()


def test_two_of_three_agree() -> None:
    judgement = judge([signed(1), signed(3, verified_at=LATER)], TRUSTED, require=2)
    assert set(judgement.agreed.signers) == {key(1).public, key(3).public}
    assert judgement.agreed.verified_at == LATER


def test_one_key_that_signs_twice_is_one() -> None:
    with pytest.raises(InvalidSignature) as refused:
        judge([signed(1), signed(1, verified_at=LATER)], TRUSTED, require=2)
    assert (refused.value.expected, refused.value.found) == ("2 signatures", "1")


def test_keys_that_are_not_trusted_do_not_count() -> None:
    with pytest.raises(InvalidSignature):
        judge([signed(4), signed(5), signed(1)], TRUSTED, require=2)
    with pytest.raises(InvalidSignature):
        judge([], TRUSTED)


def test_what_strangers_sign_need_not_even_make_sense() -> None:
    judgement = judge([signed_envelope("text/plain", b"?", key(4)), signed(1)], TRUSTED)
    assert judgement.agreed.verdict is Verdict.VALID


def test_what_a_trusted_key_signs_has_to() -> None:
    with pytest.raises(MalformedInput):
        judge([signed_envelope("text/plain", b"?", key(1)), signed(1)], TRUSTED)


def test_keys_that_disagree_are_not_counted_together() -> None:
    envelopes = [signed(1), signed(2, verdict=Verdict.INVALID), signed(3, head=OLDER_HEAD)]
    with pytest.raises(InvalidSignature):
        judge(envelopes, TRUSTED, require=2)


def test_a_minority_is_told_of() -> None:
    envelopes = [signed(1), signed(2), signed(3, verdict=Verdict.INVALID)]
    judgement = judge(envelopes, TRUSTED, require=2)
    assert judgement.agreed.verdict is Verdict.VALID
    assert [(each.verdict, each.signers) for each in judgement.others] == [(Verdict.INVALID, (key(3).public,))]


def test_of_one_key_the_last_word_on_a_head_counts() -> None:
    envelopes = [signed(1, verdict=Verdict.INVALID, verified_at=LATER), signed(1)]
    judgement = judge(envelopes, TRUSTED)
    assert (judgement.agreed.verdict, judgement.others) == (Verdict.INVALID, ())


def test_of_several_heads_the_one_verified_last_is_told() -> None:
    envelopes = [signed(1, verified_at=LATER), signed(1, head=OLDER_HEAD, verdict=Verdict.INVALID)]
    judgement = judge(envelopes, TRUSTED)
    assert judgement.agreed.head == HEAD
    assert [each.head for each in judgement.others] == [OLDER_HEAD]


def test_attestations_of_several_datasets_are_refused() -> None:
    with pytest.raises(MalformedInput):
        judge([signed(1), signed(2, dataset_id=dataset_id(9))], TRUSTED)


def test_a_signature_from_before_or_after_the_time_of_a_key_does_not_count() -> None:
    retired = TrustedKey(key(1).public, None, NOON)
    assert judge([signed(1)], [retired]).agreed.signers == (key(1).public,)
    with pytest.raises(InvalidSignature):
        judge([signed(1, verified_at=LATER)], [retired])
    with pytest.raises(InvalidSignature):
        judge([signed(1)], [TrustedKey(key(1).public, LATER)])
