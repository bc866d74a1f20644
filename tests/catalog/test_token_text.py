"""The text of access tokens: the reference's form, strict on input."""

from __future__ import annotations

import uuid
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.token_text import PREFIX, TokenParts, parse_token, token_text
from opendatafabric.errors import AuthenticationRequired

VECTOR = TokenParts(uuid.UUID("00112233-4455-6677-8899-aabbccddeeff").bytes, bytes(range(16)))
VECTOR_TEXT = "ka_008J4CT4ANK7F24SNAXWSQFEZW0020G30G2GC1R81450P30D1R7WXKQ2H0"
PARTS = st.builds(TokenParts, st.binary(min_size=16, max_size=16), st.binary(min_size=16, max_size=16))


def test_a_token_is_written_as_the_reference_writes_it() -> None:
    assert token_text(VECTOR) == VECTOR_TEXT


@pytest.mark.parametrize("text", [VECTOR_TEXT, VECTOR_TEXT.lower(), VECTOR_TEXT.upper()])
def test_a_token_is_read_in_any_case(text: str) -> None:
    assert parse_token(text) == VECTOR


@given(PARTS)
def test_every_token_is_read_back(parts: TokenParts) -> None:
    text = token_text(parts)
    assert len(text) == 61
    assert parse_token(text) == parts


@given(PARTS, st.integers(0, 57), st.sampled_from("0123456789ABCDEFGHJKMNPQRSTVWXYZ"))
def test_a_typing_error_never_gives_another_secret(parts: TokenParts, at: int, character: str) -> None:
    text = token_text(parts)
    typed = text[: len(PREFIX) + at] + character + text[len(PREFIX) + at + 1 :]
    if typed == text:
        return
    with suppress(AuthenticationRequired):
        # Only where the typing error is in the id: that one is looked up, and is not there.
        assert parse_token(typed).secret == parts.secret


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ka_",
        "ka",
        VECTOR_TEXT[:-1],
        VECTOR_TEXT + "0",
        VECTOR_TEXT + "\n",
        " " + VECTOR_TEXT,
        VECTOR_TEXT.replace("ka_", "kb_"),
        VECTOR_TEXT[:-1] + "U",
        VECTOR_TEXT[:-1] + "1",  # spare bits that are not zero
        VECTOR_TEXT[:-1] + "é",
        "ka_" + "\u0660" * 58,
        "x" * 100_000,
    ],
)
def test_what_is_no_token_is_refused_alike(text: str) -> None:
    with pytest.raises(AuthenticationRequired) as caught:
        parse_token(text)
    assert caught.value.message == "Authentication token invalid"


def test_the_secret_is_not_in_what_gets_printed() -> None:
    shown = repr(VECTOR)
    assert VECTOR.secret.hex() not in shown
    assert str(VECTOR.secret) not in shown
