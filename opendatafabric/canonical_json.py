"""Canonical JSON as query proofs hash it: no blanks, sorted keys, nothing but ASCII, number tokens as they were read.

Numbers are never read as such: ``1e+16`` and ``10000000000000000.0`` are one number and two texts, and a verifier has
to hash the one that it was given.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from opendatafabric.errors import MalformedInput
from opendatafabric.query_limits import JSON_DEPTH_MAX

_NOT_ASCII: Final = re.compile(r"[^\x00-\x7e]")


class NumberToken(float):
    """A number that is written as it was read."""

    def __new__(cls, token: str) -> NumberToken:
        made = super().__new__(cls, 0.0)
        made.token = token
        return made

    token: str


def read_json_tokens(text: str | bytes) -> Any:
    """JSON values whose numbers keep their tokens.

    Raises:
        MalformedInput: no JSON; a key that comes twice; nested too deep.
    """
    try:
        return json.loads(
            text,
            parse_int=NumberToken,
            parse_float=NumberToken,
            parse_constant=_no_constant,
            object_pairs_hook=_unique,
        )
    except (ValueError, RecursionError) as error:
        raise MalformedInput(f"that is no JSON: {error}"[:300]) from None


def canonical_json(value: Any) -> bytes:
    """The canonical text of values that ``read_json_tokens`` gave, or of plain ones without floats.

    Raises:
        MalformedInput: nested deeper than ``JSON_DEPTH_MAX``.
    """
    pieces: list[str] = []
    _write(value, pieces, 0)
    return "".join(pieces).encode()


def ascii_json(text: bytes) -> bytes:
    """JSON with what is not ASCII escaped; it can only stand in strings."""
    if text.isascii() and b"\x7f" not in text:
        return text
    return _NOT_ASCII.sub(_escaped, text.decode()).encode()


def _write(value: Any, pieces: list[str], depth: int) -> None:
    if depth > JSON_DEPTH_MAX:
        raise MalformedInput("the JSON is nested too deep", expected=f"at most {JSON_DEPTH_MAX} levels")
    if isinstance(value, dict):
        for number, name in enumerate(sorted(value)):
            pieces.append(f"{',' if number else '{'}{_text(name)}:")
            _write(value[name], pieces, depth + 1)
        pieces.append("}" if value else "{}")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            pieces.append("," if number else "[")
            _write(item, pieces, depth + 1)
        pieces.append("]" if value else "[]")
    else:
        pieces.append(_scalar(value))


def _scalar(value: Any) -> str:
    if isinstance(value, NumberToken):
        return value.token
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(value: str) -> str:
    return json.dumps(value).replace("\x7f", "\\u007f")


def _escaped(found: re.Match[str]) -> str:
    number = ord(found[0])
    if number < 0x10000:
        return f"\\u{number:04x}"
    number -= 0x10000
    return f"\\u{0xD800 + (number >> 10):04x}\\u{0xDC00 + (number & 0x3FF):04x}"


def _no_constant(token: str) -> Any:
    raise ValueError(f"{token} is no number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key comes twice")
    return found
