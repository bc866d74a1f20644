"""Limits: each is a positive number with a unit in its name and a reason beside it."""

from __future__ import annotations

import ast
import inspect

from tests.for_every import for_every
from tools.limits_page import modules

MODULES = modules()
LINES = [line for module in MODULES for line in ast.parse(inspect.getsource(module)).body]
NAMES = [line.target.id for line in LINES if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)]
UNITS = {"BYTES", "KIB", "CHARS", "S", "DEPTH", "COUNT"}


@for_every(NAMES)
def test_a_limit_is_a_positive_number(name: str) -> None:
    value = next(getattr(module, name) for module in MODULES if hasattr(module, name))
    assert isinstance(value, int | float)
    assert value > 0


@for_every(NAMES)
def test_a_limit_is_followed_by_its_reason(name: str) -> None:
    at = next(i for i, line in enumerate(LINES) if isinstance(line, ast.AnnAssign) and ast.unparse(line.target) == name)
    reason = LINES[at + 1] if at + 1 < len(LINES) else None
    assert isinstance(reason, ast.Expr)
    assert isinstance(reason.value, ast.Constant)
    assert len(str(reason.value.value)) > 20


@for_every(NAMES)
def test_the_name_of_a_limit_says_what_it_counts(name: str) -> None:
    words = set(name.split("_"))
    assert words & UNITS or any(word.endswith("S") for word in words), name
