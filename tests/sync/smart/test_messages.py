"""Messages: the recorded ones are read as what they are and written as the reference writes them."""

from __future__ import annotations

import json

import pytest

from opendatafabric.chain.objects import ObjectFile, ObjectKind
from opendatafabric.errors import ProtocolViolation
from opendatafabric.multihash import physical_hash
from sync.plan import TransferPlan
from sync.smart.messages import (
    Message,
    ObjectFileReference,
    PullRequest,
    PushComplete,
    PushConfirmed,
    PushRequest,
    PushStrategy,
    Refused,
    TransferUrl,
    WirePlan,
)
from sync.smart.wire import read_message, write_message
from tests.sync.smart.recorded import PULLS, PUSHES, conversation, typed

HASH = physical_hash(b"a")
PLAN = '{"num_blocks":1,"num_objects":0,"num_records":0,"bytes_in_raw_blocks":9,"bytes_in_raw_objects":0}'


@pytest.mark.parametrize("name", [*PULLS, *PUSHES])
def test_a_recorded_message_is_written_to_the_letter_as_it_was_read(name: str) -> None:
    for text, kind in typed(name):
        assert write_message(read_message(text, kind)) == text
    assert len(list(typed(name))) == len(conversation(name))


@pytest.mark.parametrize("kind", [PushComplete, PushConfirmed])
def test_an_empty_message_is_empty_braces(kind: type[Message]) -> None:
    assert write_message(kind()) == "{}"


def test_absent_optionals_are_written_as_null() -> None:
    request = PullRequest(begin_after=None, stop_at=None, force_update_if_diverged=False)
    assert write_message(request) == '{"begin_after":null,"stop_at":null,"force_update_if_diverged":false}'


def test_absent_optionals_may_be_missing() -> None:
    request = read_message('{"force_update_if_diverged":true}', PullRequest)
    assert (request.begin_after, request.stop_at, request.force_update_if_diverged) == (None, None, True)


def test_unknown_fields_are_passed_over() -> None:
    text = '{"force_update_if_diverged":true,"of_the_future":{"x":[1]}}'
    assert read_message(text, PullRequest) == read_message('{"force_update_if_diverged":true}', PullRequest)


@pytest.mark.parametrize(
    ("spelling", "meaning"),
    [("Private", "Private"), ("private", "Private"), ("Public", "Public"), ("public", "Public")],
)
def test_visibility_is_read_in_both_spellings(spelling: str, meaning: str) -> None:
    text = (
        f'{{"current_head":null,"transfer_plan":{PLAN},"force_update_if_diverged":false,'
        f'"visibility_for_created_dataset":"{spelling}"}}'
    )
    assert read_message(text, PushRequest).visibility_for_created_dataset == meaning


@pytest.mark.parametrize(
    "missing",
    ["transfer_plan", "force_update_if_diverged", "visibility_for_created_dataset"],
)
def test_a_push_request_lacks_nothing(missing: str) -> None:
    value = {
        "transfer_plan": json.loads(PLAN),
        "force_update_if_diverged": False,
        "visibility_for_created_dataset": "Private",
    }
    del value[missing]
    with pytest.raises(ProtocolViolation, match=missing):
        read_message(json.dumps(value), PushRequest)


@pytest.mark.parametrize("kind", list(ObjectKind))
def test_an_object_reference_says_what_the_block_says(kind: ObjectKind) -> None:
    file = ObjectFile(kind, HASH, 7)
    assert ObjectFileReference.of(file).to_file() == file


def test_a_plan_says_the_same_on_the_wire() -> None:
    plan = TransferPlan(1, 2, 3, 4, 2**64 - 1)
    assert WirePlan.of(plan).to_plan() == plan


def test_a_skipped_upload_has_no_address() -> None:
    reference = ObjectFileReference(object_type="DataSlice", physical_hash=HASH, size=1)
    text = write_message(PushStrategy(object_file=reference, push_strategy="SkipUpload"))
    assert text.endswith('"push_strategy":"SkipUpload","upload_to":null}')


def test_an_address_has_all_its_fields() -> None:
    assert write_message(TransferUrl(url="http://a/")) == '{"url":"http://a/","headers":[],"expires_at":null}'


@pytest.mark.parametrize(
    "text", ["{}", '{"Internal":null}', '{"NameCollision":{"dataset_alias":"a"},"InvalidHead":{}}']
)
def test_a_refusal_has_exactly_one_reason(text: str) -> None:
    with pytest.raises(ProtocolViolation):
        read_message(f'{{"Err":{text}}}', Refused)
