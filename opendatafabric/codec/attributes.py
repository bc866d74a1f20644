"""ExtraAttributes: any JSON object, kept as the one compact text the reference would write.

Keys are sorted by their UTF-8 bytes, nothing is escaped that need not be, floats are in the shortest form that reads
back. Text that lies in a stored block is kept as it is, number for number.
"""

from __future__ import annotations

import json
import math
from typing import Any, Final

from opendatafabric.codec.yaml_scalars import float_text
from opendatafabric.errors import MalformedInput
from opendatafabric.limits import MANIFEST_DEPTH_MAX
from opendatafabric.metadata.slices import ExtraAttributes

_U64_MAX: Final = 2**64 - 1
_I64_MIN: Final = -(2**63)


class Lexeme(str):
    """A number exactly as it was written."""

    __slots__ = ()


def attributes_of(value: dict[str, Any]) -> ExtraAttributes:
    """From plain values.

    Raises:
        MalformedInput: an integer beyond 64 bits, a key that is no text, nesting too deep.
    """
    return ExtraAttributes(_text(value, 0))


def attributes_value(attributes: ExtraAttributes) -> dict[str, Any]:
    """As plain values; numbers that Python would spell differently are ``Lexeme``.

    Raises:
        MalformedInput: the text is no JSON object.
    """
    try:
        value = json.loads(attributes.attributes, parse_int=_lexeme_or_int, parse_float=_lexeme_or_float)
    except (ValueError, RecursionError) as error:
        raise MalformedInput(f"extra attributes are not JSON: {error}") from None
    if not isinstance(value, dict):
        raise MalformedInput("extra attributes are not a JSON object")
    return value


def _text(value: Any, depth: int) -> str:
    if depth > MANIFEST_DEPTH_MAX:
        raise MalformedInput("extra attributes nest too deep", expected=f"at most {MANIFEST_DEPTH_MAX}")
    match value:
        case dict():
            members = sorted(((_key(key), item) for key, item in value.items()), key=lambda member: member[0].encode())
            return "{" + ",".join(f"{_quoted(key)}:{_text(item, depth + 1)}" for key, item in members) + "}"
        case list() | tuple():
            return "[" + ",".join(_text(item, depth + 1) for item in value) + "]"
        case _:
            return _scalar_text(value)


def _scalar_text(value: Any) -> str:
    match value:
        case Lexeme():
            return str(value)
        case None | True | False | str():
            return _quoted(value)
        case int():
            return _integer_text(value)
        case float():
            return _json_float(value)
        case _:
            raise MalformedInput(f"extra attributes cannot hold a {type(value).__name__}")


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise MalformedInput(f"extra attributes have a key that is no text: {key!r}", hint="quote it")
    return key


def _quoted(value: str | bool | None) -> str:
    return json.dumps(value, ensure_ascii=False)


def _integer_text(value: int) -> str:
    if not _I64_MIN <= value <= _U64_MAX:
        raise MalformedInput(f"extra attributes hold an integer beyond 64 bits: {value}", hint="write it as a text")
    return str(value)


def _json_float(value: float) -> str:
    if not math.isfinite(value):
        return "null"
    text = float_text(value)
    mantissa, letter, exponent = text.partition("e")
    return f"{mantissa}e+{exponent}" if letter and not exponent.startswith("-") else text


def _lexeme_or_int(text: str) -> int | Lexeme:
    return int(text) if len(text) < 20 and str(int(text)) == text else Lexeme(text)


def _lexeme_or_float(text: str) -> float | Lexeme:
    return float(text) if _json_float(float(text)) == text else Lexeme(text)
