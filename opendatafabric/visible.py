"""Text by strangers, made harmless for a line: what a terminal or a log would obey is shown as an escape.

Control characters would move a cursor, change a title, end a line or hide what else is printed, so they become
``\\u001b``, which is also what JSON and YAML call them.
"""

from __future__ import annotations

import re
from typing import Final

_CONTROLS: Final = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
"""What is no text: C0 but tab and end of line, DEL, C1, other ends of lines, overrides of the direction, halves."""

_NOT_TEXT: Final = re.compile(f"[{_CONTROLS}]")
_NOT_IN_LINES: Final = re.compile(f"[{_CONTROLS}\t\n]")


def visible(text: str) -> str:
    """A text of lines, with everything in it that a terminal would obey as an escape."""
    return _NOT_TEXT.sub(_escaped, text)


def visible_in_line(text: str) -> str:
    """The same for one line: ends of lines and tabs are escapes too."""
    return _NOT_IN_LINES.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
