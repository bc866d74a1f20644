"""Errors ↔ refusals: what one side raises, the other hears; every reason fits into a close."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.errors import (
    ChainError,
    ChainsDiverged,
    NameCollision,
    OdfError,
    RefCollision,
    RefConflict,
    SeedConflict,
    TransferRejected,
)
from opendatafabric.multihash import physical_hash
from sync.smart.messages import PullPhase, PushPhase, Refused
from sync.smart.refusals import close_reason, error_of, internal, invalid_head, invalid_interval, refusal_of
from sync.smart.wire import read_message, read_refusal, write_message
from tests.storage.chains import dataset_id

PHASES: list[PushPhase | PullPhase] = [
    PushPhase(Push="InitialRequest"),
    PushPhase(Push="EnsuringTargetExists"),
    PushPhase(Push="ObjectsUploadProgress"),
    PullPhase(Pull="MetadataRequest"),
]
ONE, TWO = physical_hash(b"1"), physical_hash(b"2")


def heard(error: OdfError) -> OdfError:
    """``error`` after it went through a close."""
    refused = read_refusal(close_reason(refusal_of(error, PHASES[0])))
    assert refused is not None
    return error_of(refused)


@pytest.mark.parametrize(
    "error",
    [
        SeedConflict("another id"),
        RefConflict("moved", expected=ONE, found=TWO),
        RefCollision("taken", found=dataset_id()),
        NameCollision("taken", found="alice/weather"),
    ],
)
def test_a_conflict_is_heard_as_the_same_family(error: OdfError) -> None:
    assert type(heard(error)) is type(error)
    assert type(heard(error)) is not OdfError


def test_what_has_no_kind_of_its_own_is_heard_in_its_words() -> None:
    error = heard(ChainError("a gap", rule="B4"))
    assert isinstance(error, TransferRejected)
    assert "a gap" in error.message


def test_a_collision_without_the_other_one_is_a_refusal_too() -> None:
    assert isinstance(heard(NameCollision("taken")), TransferRejected)


def test_heads_are_named_from_the_server_who_answers() -> None:
    text = write_message(invalid_head(peer_head=ONE, own_head=None))
    assert text == f'{{"Err":{{"InvalidHead":{{"actual_head":"{ONE}","expected_head":null}}}}}}'
    error = error_of(read_message(text, Refused))
    assert isinstance(error, RefConflict)
    assert (error.expected, error.found) == (str(ONE), "no dataset")


def test_an_interval_that_is_none_means_diverged_chains() -> None:
    error = error_of(invalid_interval(head=ONE, tail=TWO))
    assert isinstance(error, ChainsDiverged)
    assert (error.expected, error.found) == (str(TWO), str(ONE))


@given(st.text(max_size=400), st.sampled_from(PHASES))
def test_every_reason_fits_into_a_close_and_can_be_read(message: str, phase: PushPhase | PullPhase) -> None:
    printable = message.encode("utf-8", "replace").decode()
    reason = close_reason(internal(phase, printable))
    assert len(reason.encode()) <= 123
    refused = read_refusal(reason)
    assert refused is not None
    assert refused.Err.Internal is not None
    assert refused.Err.Internal.phase == phase


@given(st.text(st.characters(codec="ascii"), max_size=300))
def test_the_reason_keeps_the_beginning_of_the_message(message: str) -> None:
    refused = read_refusal(close_reason(internal(PHASES[0], message)))
    assert refused is not None
    assert refused.Err.Internal is not None
    assert message.startswith(refused.Err.Internal.error_message)
    assert len(message) < 4 or refused.Err.Internal.error_message


def test_a_taken_id_fits_into_a_close() -> None:
    reason = close_reason(refusal_of(RefCollision("taken", found=dataset_id()), PHASES[0]))
    assert len(reason) <= 123
    assert str(dataset_id()) in reason
