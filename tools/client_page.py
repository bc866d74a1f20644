"""Write ``docs/reference/python-client.md`` anew: everything that ``odf_client`` exports, in the words of the code.

.venv/bin/python -m tools.client_page
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any, Final

import odf_client
from tests.source_tree import ROOT

PAGE: Final = ROOT / "docs" / "reference" / "python-client.md"
_HEAD: Final = """# The Python client

What `odf_client` exports, of the distribution `odf-client`. How it is used is told in
[use datasets from Python](../how-to/use-from-python.md). This page is written by
`python -m tools.client_page` from the code.

Errors are those of the [table of errors](errors.md), in `odf_client.errors`.
"""


def page() -> str:
    """The whole page."""
    exported = ((name, getattr(odf_client, name)) for name in odf_client.__all__)
    parts = [part for name, value in exported if not isinstance(value, ModuleType) for part in _described(name, value)]
    return "\n".join([_HEAD, *parts]).rstrip() + "\n"


def _described(name: str, value: Any) -> Iterator[str]:
    yield f"## `{name}`\n"
    yield from _signature(f"odf_client.{name}", value)
    yield _text(value)
    if not inspect.isclass(value):
        return
    for member, found in vars(value).items():
        if not member.startswith("_") and isinstance(found, FunctionType | property):
            yield f"### `{name}.{member}`\n"
            yield from _signature(member, found)
            yield _text(found)


def _signature(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, property) or (inspect.isclass(value) and not _is_made_by_people(value)):
        return
    written = str(inspect.signature(value)).replace("'", "").replace("self, ", "").replace("(self)", "()")
    yield f"```text\n{name}{re.sub(r' -> None$', '', written)}\n```\n"


def _is_made_by_people(value: type) -> bool:
    return "__init__" in vars(value) and not hasattr(value, "__dataclass_fields__")


def _text(value: Any) -> str:
    """A docstring as Markdown: examples as blocks, code in single quotes, errors as a list."""
    text = re.sub(r"``(.+?)``", r"`\1`", inspect.getdoc(value) or "", flags=re.DOTALL)
    text = re.sub(r"((?:^(?:>>>|\.\.\.) ?.*\n?)+)", _example, text, flags=re.MULTILINE)
    told, raises, errors = text.partition("\nRaises")
    return told.rstrip() + (raises + errors.replace("\n    ", "\n- ").replace(":\n", ":\n\n", 1)).rstrip() + "\n"


def _example(found: re.Match[str]) -> str:
    lines = [re.sub(r"^(>>>|\.\.\.) ?", "", line) for line in found[1].splitlines()]
    return "\n".join(["```python", *lines, "```", ""])


if __name__ == "__main__":
    PAGE.write_text(page())
