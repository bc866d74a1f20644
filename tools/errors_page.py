"""Write ``docs/reference/errors.md`` anew: from the families of errors, their statuses, exit codes and remedies.

.venv/bin/python -m tools.errors_page
"""

from __future__ import annotations

import importlib
from typing import Final

from cli.exit_codes import exit_code_of
from opendatafabric.errors import OdfError
from repo_server.error_table import ERROR_TYPES, TYPES_PATH, status_of
from tests.source_tree import FLOORS, ROOT, python_files, text_of

PAGE: Final = ROOT / "docs" / "reference" / "errors.md"
_HEAD: Final = f"""# Errors

Every error has a code that does not change, a sentence, where it can be said what was expected and found, and a hint.
On the command line it is printed on stderr (with `--json` as one JSON object) and decides the
[exit code](exit-codes.md).

Over HTTP it is a problem document (RFC 9457, `application/problem+json`) with that status:

| Field | Says |
|---|---|
| `type` | `{TYPES_PATH}CODE`: the same on every server, and a page on each that explains the code |
| `title` | what the code means, as below |
| `status` | the status of the answer |
| `detail` | what happened this time; `message` says the same, for clients of the reference |
| `instance` | the number of the request, as in `X-Request-Id` and in the log of the server |
| `code` | as below |
| `retryable` | whether the same request may do better later |
| `expected`, `found`, `hint` | where they are known |
| `rule`, `sequence_number` | of a [rule of the chain](chain-rules.md), and the block that breaks it |

Routes that the reference has too [refuse in its form](http-api.md#errors): `{{"message": …}}`, a line of text, or
nothing. This page is written by `python -m tools.errors_page` from the tables in the code.

| Code | HTTP | Exit | Retry | Means | What to do |
|---|---|---|---|---|---|
"""


def families() -> list[type[OdfError]]:
    """Every class of error of every floor, wherever it is defined."""
    for path in python_files(*FLOORS):
        if "OdfError" in (text := text_of(path)) or "code = " in text:
            importlib.import_module(".".join(path.with_suffix("").parts).removesuffix(".__init__"))
    found, queue = [], [OdfError]
    while queue:
        family = queue.pop()
        found.append(family)
        queue.extend(family.__subclasses__())
    ours = (family for family in found if family.__module__.split(".")[0] in FLOORS and family.__name__[0] != "_")
    return sorted(set(ours), key=lambda each: each.code)


def raised(family: type[OdfError]) -> OdfError:
    """An instance, whatever more its constructor asks for."""
    error = family.__new__(family)
    error.args = ("no",)
    return error


def page() -> str:
    """The whole page; codes stand in the order of the table."""
    known = {family.code: family for family in families()}
    return _HEAD + "".join(_row(known[code]) for code in ERROR_TYPES)


def _row(family: type[OdfError]) -> str:
    kind, retry = ERROR_TYPES[family.code], "yes" if family.retryable else "no"
    status, exit_code = status_of(family).value, int(exit_code_of(raised(family)))
    return f"| `{family.code}` | {status} | {exit_code} | {retry} | {kind.title} | {kind.remedy} |\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
