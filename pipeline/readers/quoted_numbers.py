"""Numbers that a source writes as JSON text: taken for what they are where a column of numbers is declared.

So does the reference. Arrow reads a number as a number only.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final

import pyarrow as pa

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,40}")


def has_numbers(data_type: Any) -> bool:
    """Whether there is a number in it at any depth."""
    if pa.types.is_struct(data_type):
        return any(has_numbers(field.type) for field in data_type)
    if pa.types.is_list(data_type):
        return has_numbers(data_type.value_type)
    return bool(pa.types.is_integer(data_type) or pa.types.is_floating(data_type))


def unquoted(value: Any, data_type: Any) -> Any:
    """``value`` with text made a number where ``data_type`` has one; text that is none stays."""
    types = pa.types
    if types.is_struct(data_type) and isinstance(value, dict):
        declared = {field.name: field.type for field in data_type}
        return {name: unquoted(each, declared[name]) for name, each in value.items() if name in declared}
    if types.is_list(data_type) and isinstance(value, list):
        return [unquoted(each, data_type.value_type) for each in value]
    if not isinstance(value, str):
        return value
    if types.is_integer(data_type):
        return int(value) if _INTEGER.fullmatch(value) and -(2**63) <= int(value) < 2**64 else value
    return _real(value) if types.is_floating(data_type) else value


def _real(text: str) -> float | str:
    """JSON has no other numbers than finite ones."""
    try:
        number = float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) and text == text.strip() and "_" not in text else text
