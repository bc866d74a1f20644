"""Reads the golden vectors beside this file."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent


@cache
def vectors(name: str) -> list[dict[str, Any]]:
    """The cases of one JSON file."""
    found: list[dict[str, Any]] = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return found
