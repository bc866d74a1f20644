"""Maxima of logins: a name, a unit in the name, a reason, as in ``limits.py``."""

from __future__ import annotations

from typing import Final

DEVICE_LOGIN_S: Final = 300
"""How long a program waits for a person to let it in, as in the reference."""

DEVICE_POLL_S: Final = 5
"""How often it asks whether that has happened, as in the reference."""

DEVICE_TOLD_S: Final = 600
"""How long after its end a login is still told apart from one that never was."""

DEVICE_LOGINS_MAX: Final = 10_000
"""Logins of programs known at once: anybody may begin one, and each is a row."""

FORM_BYTES_MAX: Final = 16 * 1024
"""Largest form of a page or a login: names, passwords and codes."""

FORM_FIELDS_MAX: Final = 100
"""Most fields of such a form: a box for every scope and some datasets."""

PAGE_PATH_CHARS_MAX: Final = 2_000
"""Longest path of a page to go on to after a login."""
