"""Free attributes of a schema, a field or a data slice: a JSON object kept as text.

The text is what the block stores, so it decides the hash: compact, keys in the order of their UTF-8 bytes, numbers of a
stored block with the spelling they have. Source: ODF schema 0.37, ExtraAttributes; spelling as the reference's.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from opendatafabric.errors import MalformedInput
from opendatafabric.limits import ATTRIBUTE_NUMBER_CHARS_MAX, ATTRIBUTES_DEPTH_MAX


@dataclass(frozen=True, slots=True)
class ExtraAttributes:
    """A JSON object as text; stored text is kept as it is, ``canonical`` says how the reference would write it."""

    attributes: str

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> ExtraAttributes:
        """From plain values: ``None``, bool, int of 64 bits, float, str, list and dict with text for keys.

        Raises:
            MalformedInput: a value JSON has no word for, an integer over 64 bits, nesting over the limit.
        """
        return cls(json_text(dict(values)))

    def as_mapping(self) -> dict[str, Any]:
        """The object as plain values; a number that no float can hold is given as its text.

        Raises:
            MalformedInput: the text is no JSON object.
        """
        return _parse(self.attributes, parse_float=_float_or_text, parse_int=int)

    def canonical(self) -> ExtraAttributes:
        """The same object as the reference writes it anew: sorted and compact, numbers spelled as they were.

        Raises:
            MalformedInput: the text is no JSON object.
        """
        return ExtraAttributes(json_text(_parse(self.attributes, parse_float=_Lexeme, parse_int=_Lexeme)))


class _Lexeme(str):
    """A number as it was spelled."""

    __slots__ = ()


def json_text(value: Any, depth: int = 0) -> str:
    """Compact JSON with sorted keys, as the reference writes attributes."""
    if depth > ATTRIBUTES_DEPTH_MAX:
        raise MalformedInput("attributes nest too deep", expected=f"at most {ATTRIBUTES_DEPTH_MAX} levels")
    match value:
        case _Lexeme():
            return str(value)
        case dict():
            entries = (f"{_quoted(key)}:{json_text(value[key], depth + 1)}" for key in sorted(value, key=_utf8))
            return "{" + ",".join(entries) + "}"
        case list() | tuple():
            return "[" + ",".join(json_text(item, depth + 1) for item in value) + "]"
        case _:
            return _json_scalar(value)


def float_text(value: float) -> str:
    """The shortest decimal that reads back as ``value`` (finite): plain from 1e-5 to 1e16, else with an exponent."""
    digits, exponent, power = repr(value).partition("e")
    if not exponent:
        return digits
    if power == "-05":
        return _shifted_by_five(digits)
    return f"{digits}e{power[0] if power[0] in '+-' else ''}{power.lstrip('+-').lstrip('0')}"


def _shifted_by_five(digits: str) -> str:
    # Python turns to exponents one power of ten earlier than the reference.
    sign = "-" if digits.startswith("-") else ""
    return f"{sign}0.0000{digits.lstrip('-').replace('.', '')}"


def _json_scalar(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() if -(2**63) <= value < 2**64:
            return str(value)
        case float():
            return float_text(value) if math.isfinite(value) else "null"
        case str():
            return _quoted(value)
        case _:
            raise MalformedInput(f"{type(value).__name__} does not fit into attributes", found=repr(value)[:100])


def _quoted(text: str) -> str:
    _utf8(text)
    return json.dumps(text, ensure_ascii=False)


def _utf8(text: object) -> bytes:
    if not isinstance(text, str):
        raise MalformedInput("a key of attributes must be text", found=repr(text)[:100])
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise MalformedInput("attributes hold half of a surrogate pair", found=ascii(text)[:100]) from None


def _parse(text: str, *, parse_float: Any, parse_int: Any) -> dict[str, Any]:
    try:
        found = json.loads(
            text,
            parse_float=lambda digits: parse_float(_checked_number(digits)),
            parse_int=lambda digits: parse_int(_checked_number(digits)),
            parse_constant=_refuse_constant,
        )
    except (json.JSONDecodeError, RecursionError) as error:
        raise MalformedInput(f"attributes are not JSON: {error}") from None
    if not isinstance(found, dict):
        raise MalformedInput("attributes are no JSON object", found=type(found).__name__)
    return found


def _checked_number(digits: str) -> str:
    if len(digits) > ATTRIBUTE_NUMBER_CHARS_MAX:
        raise MalformedInput(
            "attributes hold too long a number",
            expected=f"at most {ATTRIBUTE_NUMBER_CHARS_MAX} characters",
            found=len(digits),
        )
    return digits


def _refuse_constant(name: str) -> None:
    raise MalformedInput(f"attributes are not JSON: {name}")


def _float_or_text(digits: str) -> float | str:
    number = float(digits)
    return number if math.isfinite(number) else digits
