"""The compass in numbers, kept by remembering the worst of each: it may get better, never worse.

When a number got better, run ``python -m tests.test_style_ratchet`` to keep it. When a longer function really reads
better, say so beside it and set the number by hand in ``style_ratchet.json``, in a commit that says why.
"""

from __future__ import annotations

import ast
import json
import statistics
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.source_tree import FLOORS, ROOT, python_files, text_of, tree_of

STORED = ROOT / "tests" / "style_ratchet.json"
BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match)
MEASURES = (
    "longest_module_lines",
    "modules_over_350_lines",
    "longest_function_lines",
    "median_function_lines",
    "function_lines_9_of_10",
    "deepest_nesting",
    "missing_test_lines_percent",
)
Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(path: Path) -> Iterator[Function]:
    """Every function of a module, methods and inner ones too."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, Function):
            yield node


def body_lines(function: Function) -> int:
    """Lines from the first statement after the docstring to the last."""
    body = function.body
    first = body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        body = body[1:]
    return 0 if not body else (body[-1].end_lineno or 0) - body[0].lineno + 1


def nesting(node: ast.AST, depth: int = 0) -> int:
    """How many branches and loops lie inside each other; an ``elif`` is as deep as its ``if``."""
    deepest = depth
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST):
                continue
            is_elif = isinstance(node, ast.If) and name == "orelse" and isinstance(child, ast.If) and len(value) == 1
            deeper = depth + (isinstance(child, BRANCHES) and not is_elif)
            if not isinstance(child, Function | ast.ClassDef):
                deepest = max(deepest, nesting(child, deeper))
    return deepest


@cache
def measure() -> dict[str, float]:
    """The worst of each, over all floors."""
    paths = [path for path in python_files(*FLOORS) if text_of(path).strip()]
    module_lines = sorted(len(text_of(path).splitlines()) for path in paths)
    all_functions = [function for path in paths for function in functions(path)]
    lengths = sorted(body_lines(function) for function in all_functions)
    tests = sum(len(text_of(path).splitlines()) for path in python_files("tests"))
    return {
        "longest_module_lines": module_lines[-1],
        "modules_over_350_lines": sum(length > 350 for length in module_lines),
        "longest_function_lines": lengths[-1],
        "median_function_lines": statistics.median(lengths),
        "function_lines_9_of_10": lengths[int(len(lengths) * 0.9)],
        "deepest_nesting": max(nesting(function) for function in all_functions),
        "missing_test_lines_percent": max(0, round(130 - 100 * tests / sum(module_lines))),
    }


def offenders() -> str:
    """The places to look at first."""
    found = [
        (body_lines(function), nesting(function), f"{path}:{function.lineno} {function.name}")
        for path in python_files(*FLOORS)
        for function in functions(path)
    ]
    modules = sorted(((len(text_of(path).splitlines()), str(path)) for path in python_files(*FLOORS)), reverse=True)
    longest = [f"{lines} lines: {place}" for lines, _, place in sorted(found, reverse=True)[:5]]
    deepest = [f"nesting {depth}: {place}" for _, depth, place in sorted(found, key=lambda row: -row[1])[:5]]
    return "\n".join([*(f"{lines} lines: {path}" for lines, path in modules[:5]), *longest, *deepest])


@pytest.mark.xdist_group("ratchet")
@pytest.mark.parametrize("name", MEASURES)
def test_no_number_of_the_style_gets_worse(name: str) -> None:
    stored = json.loads(STORED.read_text())[name]
    assert measure()[name] <= stored, f"{name} was {stored}; look at:\n{offenders()}"


if __name__ == "__main__":
    kept = json.loads(STORED.read_text()) if STORED.exists() else {}
    better = {name: min(value, kept.get(name, value)) for name, value in measure().items()}
    STORED.write_text(json.dumps(better, indent=2) + "\n")
    print(STORED.read_text(), offenders(), sep="\n")
