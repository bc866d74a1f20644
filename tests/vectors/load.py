"""Reads the golden vectors beside this file."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parent


@cache
def vectors(name: str) -> list[dict[str, Any]]:
    """The cases of one JSON file."""
    found: list[dict[str, Any]] = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return found


def cases(name: str, kind: str, *, ok: bool | None = None) -> list[Any]:
    """Parameters of the vectors whose ``type`` is ``kind``, those that are ``ok`` or not if that is said."""
    chosen = [case for case in vectors(name) if case["type"] == kind and ok in {None, case["ok"]}]
    return [pytest.param(case, id=ascii(case.get("note") or case["input"])[:60]) for case in chosen]
