"""From templates and values to HTML: whatever is put into a page is escaped, and a value that is missing is an error.

The templates lie in ``repo_server/templates``; they are read once. They decide how things look, the modules beside
this one what is told.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from jinja2 import DictLoader, Environment, StrictUndefined

from repo_server.moments import moment
from repo_server.pages.static_files import STYLE, static_path

_FOLDER: Final = Path(__file__).parent.parent / "templates"
_SHORT_CHARS: Final = 17
_KIB: Final = 1_024


def render(template: str, **values: Any) -> str:
    """The page ``template`` with these values."""
    return _ENVIRONMENT.get_template(template).render(values)


def shown(value: Any) -> Any:
    """What is put into a page for ``value``: control characters have no place in HTML, and could hide what stands
    there."""
    if not isinstance(value, str) or hasattr(value, "__html__") or value.isprintable():
        return value
    return "".join(char if char in "\t\n" or char.isprintable() else f"\\u{ord(char):04x}" for char in value)


def number(value: int) -> str:
    """``1,234``."""
    return f"{value:,}"


def size(count: int) -> str:
    """``1.5 MiB``."""
    amount, units = float(count), iter(("KiB", "MiB", "GiB", "TiB", "PiB"))
    unit = "bytes"
    while amount >= _KIB and (larger := next(units, None)):
        amount, unit = amount / _KIB, larger
    return (
        f"{count:,} bytes" if unit == "bytes" else f"{amount:.3g} {unit}" if amount < 1_000 else f"{amount:.0f} {unit}"
    )


def short(name: object) -> str:
    """The first characters of a hash or an id, with an ellipsis."""
    text = str(name)
    return text if len(text) <= _SHORT_CHARS else f"{text[:_SHORT_CHARS]}…"


def _environment() -> Environment:
    sources = {path.name: path.read_text(encoding="utf-8") for path in _FOLDER.glob("*.html")}
    made = Environment(
        loader=DictLoader(sources),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(moment=moment, number=number, size=size, short=short)
    made.globals.update(static=static_path, style=STYLE)
    return made


_ENVIRONMENT: Final = _environment()
