"""Of queries: over datasets, and of looks at their records."""

from __future__ import annotations

from typing import Final

JSON_DEPTH_MAX: Final = 64
"""Deepest nesting of JSON that is made canonical; answers to queries have a few levels."""

KNOWN_SLICES_MAX: Final = 200_000
"""Data slices of heads that a process remembers, at about 700 bytes each: so many blocks are not read again."""

QUERY_DATASETS_MAX: Final = 100
"""Most datasets that one query names: each is opened, and its chain is looked at."""

QUESTION_BYTES_MAX: Final = 1024 * 1024
"""Longest body of a question, or of a proof to be checked: a query, and a line for each of its datasets."""
