"""Templates ``${{ env.NAME || 'text' }}`` in a fetch step: resolved when it is fetched, never stored."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from opendatafabric.errors import AccessDenied, LimitExceeded, MalformedManifest

_TEMPLATE: Final = re.compile(r"\$\{\{([^}]*)\}\}")
_ENV: Final = re.compile(r"env\.([A-Za-z0-9_-]+)")
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")
_TEXT: Final = re.compile(r"'([^']*)'")
_REPLACEMENTS_MAX: Final = 100
"""A value may hold templates itself; one that holds its own would never end."""


def resolve(text: str, variables: Mapping[str, str]) -> str:
    """``text`` with every template replaced; of its alternatives the first that has a value.

    Raises:
        MalformedManifest: a template of no known form.
        AccessDenied: none of the variables may be used, or is set.
        LimitExceeded: templates in values without end.
    """
    for _ in range(_REPLACEMENTS_MAX):
        found = _TEMPLATE.search(text)
        if found is None:
            return text
        text = text[: found.start()] + _value(found[1], variables) + text[found.end() :]
    raise LimitExceeded("templates lead to templates without end", expected=f"at most {_REPLACEMENTS_MAX}")


def _value(content: str, variables: Mapping[str, str]) -> str:
    values = [_alternative(each.strip(), variables) for each in content.split("||")]
    found = next((value for value in values if value is not None), None)
    if found is None:
        raise AccessDenied(
            f"no value for the template '{content.strip()}'", hint="set the variable, and allow it: --allow-env NAME"
        )
    return found


def _alternative(text: str, variables: Mapping[str, str]) -> str | None:
    if found := _ENV.fullmatch(text):
        return variables.get(found[1])
    if found := _TEXT.fullmatch(text):
        return found[1].strip()
    if _NUMBER.fullmatch(text):
        return text
    raise MalformedManifest(f"'{text}' in a template is none of its forms", expected="env.NAME, a number or 'text'")
