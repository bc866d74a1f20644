"""What a scalar of YAML 1.2's core schema means, as the reference resolves it, and how numbers are spelled.

A plain ``052`` or ``1_000`` is text, ``0x1F`` a number, ``yes`` text. Quoted scalars are always text.
"""

from __future__ import annotations

import math
import re
from typing import Final

Scalar = None | bool | int | float | str

_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLS: Final = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_SPECIAL: Final = {
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}
_ZEROS_FIRST: Final = re.compile(r"[-+]?0[0-9]+", re.ASCII)
_INTEGER: Final = re.compile(r"([-+]?)(?:0x([0-9a-fA-F]+)|0o([0-7]+)|0b([01]+)|([0-9]+))", re.ASCII)
_FLOAT: Final = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_DIGITS_MAX: Final = 400
"""More digits than any number of the format has; Python's own conversion takes quadratic time."""
_INTEGER_MAX: Final = 2**128


def resolve(text: str) -> Scalar:
    """The value of a plain scalar. Integers have at most 128 bits; decimals beyond become floats."""
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if text in _SPECIAL:
        return _SPECIAL[text]
    number = _number(text)
    return text if number is None else number


def is_plain_text(text: str) -> bool:
    """Whether ``text`` reads back as itself when written without quotes."""
    return isinstance(resolve(text), str) and _ZEROS_FIRST.fullmatch(text) is None


def float_text(value: float) -> str:
    """The shortest text that reads back as ``value``: plain from 1e-5 to 1e16, else ``1e-7``, ``1.5e16``."""
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    digits, point = _shortest_digits(abs(value))
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    return sign + _layout(digits, point)


def _number(text: str) -> int | float | None:
    if _ZEROS_FIRST.fullmatch(text):
        return None
    integer = _INTEGER.fullmatch(text)
    if integer is not None:
        return _integer(integer)
    return _finite(text) if _FLOAT.fullmatch(text) else None


def _integer(found: re.Match[str]) -> int | float | None:
    for group, base in ((2, 16), (3, 8), (4, 2), (5, 10)):
        if found[group] is not None and len(found[group]) <= _DIGITS_MAX:
            value = int(found[1] + found[group], base)
            if abs(value) < _INTEGER_MAX:
                return value
            return _finite(found[0]) if base == 10 else None
    return None


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def _shortest_digits(value: float) -> tuple[str, int]:
    """Significant digits and the place of the point: ``0.0012`` is ``("12", -2)``, ``120.0`` is ``("12", 3)``."""
    mantissa, _, exponent = f"{value!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    return digits.rstrip("0") or "0", point if digits.strip("0") else 1


def _layout(digits: str, point: int) -> str:
    if len(digits) <= point <= 16:
        return digits.ljust(point, "0") + ".0"
    if 0 < point <= 16:
        return f"{digits[:point]}.{digits[point:]}"
    if -5 < point <= 0:
        return "0." + "0" * -point + digits
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{fraction}e{point - 1}"
