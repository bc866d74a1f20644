"""Of reports: of what a verification writes and keeps."""

from __future__ import annotations

from typing import Final

REPORT_FINDINGS_MAX: Final = 2_000
"""Findings that a kept report holds; more are counted. With the largest texts they fill half of its bytes."""

REPORT_BLOCKS_MAX: Final = 10_000
"""Blocks that a kept report names, those with findings first; the others are counted."""

REPORT_TEXT_CHARS_MAX: Final = 1_000
"""The longest text in a kept report: what a hostile chain says may be of any length."""

REPORT_BYTES_MAX: Final = 16_777_216
"""The largest report that is read."""
