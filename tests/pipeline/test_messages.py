"""What client, worker and engine say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.errors import EngineDied, LimitExceeded, OdfError, ProtocolViolation, error_from
from opendatafabric.limits import WORKER_MESSAGE_BYTES_MAX
from pipeline.messages import decode, encode
from tests.cli.test_exit_codes import families

JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5)


@given(st.dictionaries(st.text(), JSON))
def test_a_message_is_one_line_and_comes_back(message: dict[str, object]) -> None:
    line = encode(message)
    assert line.count(b"\n") == 1
    assert decode(line) == message


@pytest.mark.parametrize("line", [b"", b"\n", b"[]\n", b"1\n", b"{\n", b"\xff\n"])
def test_what_is_no_object_is_refused(line: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        decode(line)


def test_the_longest_message_is_sent_and_a_longer_one_is_not() -> None:
    room = WORKER_MESSAGE_BYTES_MAX - len(encode({"a": ""}))
    assert len(encode({"a": "x" * room})) == WORKER_MESSAGE_BYTES_MAX
    with pytest.raises(LimitExceeded):
        encode({"a": "x" * (room + 1)})


OURS = [family for family in families() if family.__module__ == OdfError.__module__]


@pytest.mark.parametrize("family", OURS, ids=lambda family: family.code)
def test_every_error_comes_out_as_the_family_it_was(family: type[OdfError]) -> None:
    told = {"code": family.code, "message": "it is so", "hint": "do this"}
    found = error_from(decode(encode({"error": told}))["error"])
    assert type(found) is family
    assert told.items() <= found.as_dict().items()


def test_an_unknown_code_is_an_error_all_the_same() -> None:
    assert type(error_from({"code": "of-tomorrow", "message": "x"})) is OdfError
    assert error_from(EngineDied("x").as_dict()).retryable
