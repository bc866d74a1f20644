"""Texts of strangers: read as the message that is due, or refused by name."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from opendatafabric.errors import LimitExceeded, ProtocolViolation
from opendatafabric.multihash import physical_hash
from sync.smart import messages, wire
from sync.smart.messages import (
    Message,
    MetadataBlocksBatch,
    Progress,
    PullMetadata,
    PullMetadataRequest,
    PullObjectsRequest,
    PullRequest,
    PullStrategies,
    PushConfirmed,
    PushMetadata,
    PushObjectsAccepted,
    PushObjectsRequest,
    PushRequest,
    Refused,
)
from sync.smart.wire import read_message, read_refusal, write_message
from tests.strategies import edited
from tests.sync.smart.recorded import PULLS, PUSHES, typed

DUE: list[type[Message]] = [
    messages.Accepted,
    Progress,
    messages.PullAccepted,
    PullMetadata,
    PullMetadataRequest,
    PullObjectsRequest,
    PullRequest,
    PullStrategies,
    PushConfirmed,
    PushMetadata,
    PushObjectsAccepted,
    PushObjectsRequest,
    PushRequest,
    Refused,
]
HASH = str(physical_hash(b"a"))
NO_BYTES = [
    *("[-1]", "[256]", "[1.0]", "[1e2]", "[01]", '["1"]', "[null]", "[true]", "[[1]]", f"[{2**64}]"),
    *("[]", "[1,,2]", "[1,]", "[,1]", "[1 2]", "[1,\u00a02]", "null", "5", "{}", '"AAEC"'),
]
RECORDED = [(text, kind) for name in (*PULLS, *PUSHES) for text, kind in typed(name) if len(text) < 2_000]

json_texts = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["Ok", "Err", "payload", "new_blocks", "blocks", "headers", "details", "object_files", "x"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
).map(json.dumps)


def batch_text(payload: str, **fields: Any) -> str:
    batch = {"num_blocks": 1, "media_type": "application/tar+gzip", "encoding": "raw", **fields}
    return f'{{"new_blocks":{json.dumps(batch)[:-1]},"payload":{payload}}}}}'


def pack_of(text: str) -> bytes:
    return read_message(text, PushMetadata).new_blocks.payload


@given(st.binary(min_size=1, max_size=300), st.sampled_from(["raw", "base64"]))
def test_a_pack_travels_in_both_encodings(payload: bytes, encoding: Any) -> None:
    message = PushMetadata(new_blocks=MetadataBlocksBatch(num_blocks=1, encoding=encoding, payload=payload))
    assert read_message(write_message(message), PushMetadata) == message


def test_a_large_pack_is_written_and_read_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "_PIECE_CHARS", 50)
    monkeypatch.setattr(wire, "_PIECE_BYTES", 7)
    payload = bytes(range(256)) * 3
    message = PullMetadata(blocks=MetadataBlocksBatch(num_blocks=1, payload=payload))
    text = write_message(message)
    assert json.loads(text)["blocks"]["payload"] == list(payload)
    assert read_message(text, PullMetadata) == message


def test_a_payload_may_be_spread_over_lines() -> None:
    assert pack_of(batch_text("[ 31,\n\t139 , 8 ]")) == b"\x1f\x8b\x08"


@pytest.mark.parametrize("payload", NO_BYTES)
@pytest.mark.parametrize("piece_chars", [1, 1_000])
def test_a_payload_of_anything_but_bytes_is_refused(
    payload: str, piece_chars: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "_PIECE_CHARS", piece_chars)
    with pytest.raises(ProtocolViolation):
        pack_of(batch_text(payload))


def test_base64_needs_the_encoding_base64() -> None:
    text = json.dumps(base64.b64encode(b"abc").decode())
    assert pack_of(batch_text(text, encoding="base64")) == b"abc"
    with pytest.raises(ProtocolViolation, match="base64"):
        pack_of(batch_text(text))
    with pytest.raises(ProtocolViolation, match="raw"):
        pack_of(batch_text("[1]", encoding="base64"))


@pytest.mark.parametrize("text", ["A", "AA=A", "AAA", "A\nAA=", "AA==AA==", "ÄÄÄÄ", " AAAA"])
def test_base64_is_read_strictly(text: str) -> None:
    with pytest.raises(ProtocolViolation):
        pack_of(batch_text(json.dumps(text), encoding="base64"))


@pytest.mark.parametrize("fields", [{"media_type": "application/tar"}, {"encoding": "hex"}, {"encoding": None}])
def test_other_packs_than_the_two_known_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ProtocolViolation):
        pack_of(batch_text("[1]", **fields))


def test_a_pack_without_payload_is_refused() -> None:
    with pytest.raises(ProtocolViolation):
        pack_of('{"new_blocks":{"num_blocks":1,"media_type":"application/tar+gzip","encoding":"raw"}}')


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "null",
        "[]",
        "0",
        '"{}"',
        "{",
        "{}}",
        "{} {}",
        "NaN",
        "{'a':1}",
        '{"a":NaN}',
        '{"a":Infinity}',
        '{"a":01}',
        '{"a":"\\ud800"}',
        '{"a":"\ud800"}',
        '{"a":"\n"}',
        "\ufeff{}",
        "[" * 5_000 + "]" * 5_000,
        '{"a":' * 5_000 + "1" + "}" * 5_000,
    ],
)
@pytest.mark.parametrize("kind", [PullRequest, PushMetadata, PushConfirmed])
def test_what_is_no_json_object_is_refused(text: str, kind: type[Message]) -> None:
    with pytest.raises(ProtocolViolation):
        read_message(text, kind)


def push_request(**fields: Any) -> str:
    plan = dict.fromkeys(messages.WirePlan.model_fields, 0)
    value = {"transfer_plan": plan, "force_update_if_diverged": False, "visibility_for_created_dataset": "Public"}
    return json.dumps(value | fields)


@pytest.mark.parametrize("count", [1.0, 1.5, -1, 2**64, 2**200, "1", True, None, [], {}])
def test_a_count_is_an_unsigned_integer(count: Any) -> None:
    plan = dict.fromkeys(messages.WirePlan.model_fields, 0) | {"num_records": count}
    with pytest.raises(ProtocolViolation, match=r"transfer_plan\.num_records"):
        read_message(push_request(transfer_plan=plan), PushRequest)


@pytest.mark.parametrize("flag", [0, 1, "true", None, []])
def test_a_flag_is_true_or_false(flag: Any) -> None:
    with pytest.raises(ProtocolViolation, match="force_update_if_diverged"):
        read_message(push_request(force_update_if_diverged=flag), PushRequest)


@pytest.mark.parametrize("visibility", ["PUBLIC", "pUblic", "", None, 1, ["Public"]])
def test_a_visibility_is_one_of_two(visibility: Any) -> None:
    with pytest.raises(ProtocolViolation, match="visibility"):
        read_message(push_request(visibility_for_created_dataset=visibility), PushRequest)


@pytest.mark.parametrize(
    "name", ["", "x", HASH + "\n", HASH[:-1], HASH[:-1] + "g", "f1621" + HASH[5:], "f" * 20_000, 5, [], {}, True]
)
def test_a_hash_is_a_multihash(name: Any) -> None:
    with pytest.raises(ProtocolViolation):
        read_message(push_request(current_head=name), PushRequest)


@pytest.mark.parametrize(
    "headers", [5, "abc", {"a": 1}, [1], [{"name": "a"}], [{"name": 1, "value": "b"}], [["a", "b"]]]
)
def test_the_headers_of_an_address_are_rows(headers: Any) -> None:
    address = {"url": "http://a/", "headers": headers, "expires_at": None}
    reference = {"object_type": "DataSlice", "physical_hash": HASH, "size": 1}
    strategy = {"object_file": reference, "pull_strategy": "HttpDownload", "download_from": address}
    with pytest.raises(ProtocolViolation, match="headers"):
        read_message(json.dumps({"object_transfer_strategies": [strategy]}), PullStrategies)


@pytest.mark.parametrize(
    "details",
    ["Completed", {"Running": {}}, {"Running": {"uploaded_objects_count": "1"}}, None, {}, [], {"Complete": {}}],
)
def test_progress_is_running_or_complete(details: Any) -> None:
    with pytest.raises(ProtocolViolation, match="details"):
        read_message(json.dumps({"details": details}), Progress)


def test_a_message_is_at_most_as_long_as_a_message_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    text = write_message(PullMetadataRequest())
    monkeypatch.setattr(wire, "MESSAGE_BYTES_MAX", len(text))
    read_message(text, PullMetadataRequest)
    monkeypatch.setattr(wire, "MESSAGE_BYTES_MAX", len(text) - 1)
    with pytest.raises(LimitExceeded):
        read_message(text, PullMetadataRequest)


def test_a_message_holds_a_bounded_number_of_values(monkeypatch: pytest.MonkeyPatch) -> None:
    text = '{"force_update_if_diverged":false,"x":[[],[]]}'
    monkeypatch.setattr(wire, "MESSAGE_VALUES_MAX", 6)
    read_message(text, PullRequest)
    monkeypatch.setattr(wire, "MESSAGE_VALUES_MAX", 5)
    with pytest.raises(LimitExceeded):
        read_message(text, PullRequest)


def test_the_bytes_of_a_pack_are_no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MESSAGE_VALUES_MAX", 10)
    assert pack_of(batch_text(json.dumps([7] * 100))) == b"\7" * 100


@pytest.mark.parametrize(
    "refusal",
    [
        "{}",
        '"Unheard"',
        '{"Unheard":{}}',
        '{"RefCollision":{"dataset_id":"did:odf:x"}}',
        "null",
        '{"InvalidInterval":{}}',
    ],
)
@pytest.mark.parametrize("kind", [PushConfirmed, messages.ProgressRequest, PullMetadataRequest, messages.Accepted])
def test_a_refusal_that_nobody_can_read_is_no_success(refusal: str, kind: type[Message]) -> None:
    text = f'{{"Ok":{{}},"Err":{refusal}}}'
    assert read_refusal(text) is None
    with pytest.raises(ProtocolViolation, match="refused"):
        read_message(text, kind)


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"Err":', '["Err"]', '"Err"', "\ud800", '{"Ok":{}}'])
def test_what_is_no_refusal_is_none(text: str) -> None:
    assert read_refusal(text) is None


def read_or_refuse(text: str, kind: type[Message]) -> None:
    try:
        message = read_message(text, kind)
    except (ProtocolViolation, LimitExceeded):
        return
    assert read_message(write_message(message), kind) == message


@given(json_texts, st.sampled_from(DUE))
@example('{"payload":[1],"new_blocks":{"payload":5}}', PushMetadata)
@example('{"new_blocks":[{"payload":[1]}]}', PushMetadata)
def test_any_json_is_read_or_refused_by_name(text: str, kind: type[Message]) -> None:
    read_or_refuse(text, kind)
    read_refusal(text)


@given(st.data(), st.sampled_from(RECORDED))
def test_a_recorded_message_with_other_bytes_is_read_or_refused_by_name(
    data: st.DataObject, recorded: tuple[str, type[Message]]
) -> None:
    text, kind = recorded
    read_or_refuse(data.draw(edited(text.encode())).decode("utf-8", "surrogateescape"), kind)


@given(st.sampled_from(RECORDED), st.sampled_from(DUE))
def test_a_message_out_of_its_place_is_read_or_refused_by_name(
    recorded: tuple[str, type[Message]], kind: type[Message]
) -> None:
    read_or_refuse(recorded[0], kind)
