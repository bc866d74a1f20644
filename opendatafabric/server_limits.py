"""Maxima of a server that strangers use, besides those of ``limits.py``: a name, a unit in the name, a reason."""

from __future__ import annotations

from typing import Final

AUDIT_TEXT_CHARS_MAX: Final = 500
"""Of a text in the audit log so much is kept: strangers write some of them."""

AUDIT_LINE_BYTES_MAX: Final = 256 * 1024
"""Longest line of an audit log in a file: some twenty texts, each character an escape."""
