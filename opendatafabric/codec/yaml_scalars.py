"""What an unquoted word of YAML means: null, bool, number or text (YAML 1.2 core schema as the reference reads it).

Narrower than YAML 1.1: ``yes`` and ``1_000`` are text, so is ``052``; ``0x``, ``0o`` and ``0b`` are numbers.
"""

from __future__ import annotations

import math
import re
from typing import Final

PlainValue = bool | int | float | str | None
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLS: Final = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_DECIMAL: Final = re.compile(r"[+-]?(?:0|[1-9][0-9]*)")
_BASED: Final = re.compile(r"([+-]?)0(?:x([0-9a-fA-F]+)|o([0-7]+)|b([01]+))")
_LEADING_ZERO: Final = re.compile(r"[+-]?0[0-9]+")
_FLOAT: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SPECIAL_FLOATS: Final = {
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}
_INTEGER_CHARS_MAX: Final = 400
"""Longer runs of digits are floats or text in any case; Python converts them in quadratic time."""


def resolve(text: str) -> PlainValue:
    """The value of an unquoted scalar. Integers have at most 128 bits; decimals beyond become floats."""
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    integer = resolve_integer(text)
    if integer is not None:
        return integer
    number = resolve_float(text)
    return text if number is None else number


def resolve_bool(text: str) -> bool | None:
    """``True`` or ``False`` in three spellings, else ``None``."""
    return _BOOLS.get(text)


def is_null(text: str) -> bool:
    """Whether the word says null."""
    return text in _NULLS


def resolve_integer(text: str) -> int | None:
    """A number of at most 128 bits in base 10, 16, 8 or 2, else ``None``."""
    if len(text) > _INTEGER_CHARS_MAX:
        return None
    if _DECIMAL.fullmatch(text):
        return _within_128_bits(int(text))
    based = _BASED.fullmatch(text)
    if based is None:
        return None
    digits, base = next((part, base) for part, base in zip(based.groups()[1:], (16, 8, 2), strict=True) if part)
    return _within_128_bits(int(based[1] + digits, base))


def resolve_float(text: str) -> float | None:
    """A decimal number, ``.inf`` or ``.nan``; ``None`` for other text and for what overflows."""
    if text in _SPECIAL_FLOATS:
        return _SPECIAL_FLOATS[text]
    if _LEADING_ZERO.fullmatch(text) or not _FLOAT.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def _within_128_bits(number: int) -> int | None:
    return number if -(2**127) <= number < 2**128 else None
