"""Types of columns that are text, guessed from their first rows as the reference guesses them."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

_BOOLEAN, _INTEGER, _FLOAT, _DATE, _TIME = pa.bool_(), pa.int64(), pa.float64(), pa.date32(), pa.timestamp("ns", "UTC")
_PATTERNS: Final = (
    (_BOOLEAN, r"^(?i:true|false)$"),
    (_INTEGER, r"^-?\d{1,18}$"),
    (_FLOAT, r"^-?((\d*\.\d+|\d+\.\d*)([eE][-+]?\d+)?|\d+([eE][-+]?\d+)|\d{19,})$"),
    (_DATE, r"^\d{4}-\d\d-\d\d$"),
    (_TIME, r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)?$"),
)


def infer_types(rows: pa.Table) -> pa.Schema:
    """The narrowest type that holds all texts of each column; text where kinds are mixed or nothing is there."""
    return pa.schema([(name, _type(rows.column(name))) for name in rows.column_names])


def _type(texts: pa.ChunkedArray) -> pa.DataType:
    texts = texts.drop_null()
    kinds = [data_type for data_type, pattern in _PATTERNS if pc.any(pc.match_substring_regex(texts, pattern)).as_py()]
    patterns = "|".join(pattern for data_type, pattern in _PATTERNS if data_type in kinds)
    if not kinds or not pc.all(pc.match_substring_regex(texts, patterns)).as_py():
        return pa.string()
    if len(kinds) == 1:
        return kinds[0]
    if kinds == [_INTEGER, _FLOAT]:
        return _FLOAT
    return _TIME if kinds == [_DATE, _TIME] else pa.string()
