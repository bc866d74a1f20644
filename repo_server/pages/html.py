"""HTML as values: whatever is put into an element is escaped, unless it is an element itself."""

from __future__ import annotations

from html import escape
from typing import Final

_VOID: Final = frozenset({"meta", "link", "br"})


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(name: str, /, *children: str | None, **attributes: str | None) -> Html:
    """``<name …>children</name>``. Attributes that are ``None`` are left out; a ``_`` in their names stands for ``-``,
    at the end for nothing (``class_``)."""
    given = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items() if value is not None}
    opened = name + "".join(f' {key}="{_escaped(value)}"' for key, value in given.items())
    if name in _VOID:
        return Html(f"<{opened}>")
    return Html(f"<{opened}>{joined(*children)}</{name}>")


def joined(*children: str | None) -> Html:
    """One after another."""
    return Html(
        "".join(child if isinstance(child, Html) else _escaped(child) for child in children if child is not None)
    )


def _escaped(text: str) -> str:
    # Control characters have no place in HTML, and could hide what stands there.
    shown = "".join(char if char in "\t\n" or char.isprintable() else f"\\u{ord(char):04x}" for char in text)
    return escape(shown)
