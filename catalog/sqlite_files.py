"""Files of SQLite and the URLs that name them as catalogs. Loads no database code: most commands need names only."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final
from urllib.parse import unquote

_URL: Final = re.compile(r"sqlite(?:\+\w+)?:///(?P<file>[^?]+)(?:\?.*)?", re.ASCII | re.DOTALL)
_IN_MEMORY: Final = ":memory:"


def sqlite_url(path: Path) -> str:
    """The URL of an SQLite file."""
    return f"sqlite+aiosqlite:///{str(path).replace('%', '%25').replace('?', '%3F')}"


def sqlite_path(url: str) -> Path | None:
    """The file of an SQLite URL; ``None`` for databases that are none or live in memory."""
    found = _URL.fullmatch(url)
    return None if found is None or found["file"] == _IN_MEMORY else Path(unquote(found["file"]))
