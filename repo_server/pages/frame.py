"""The frame of every page: its head, its one style, and what browsers may do with it (Content Security Policy).

The style stands in the page and is allowed by its hash. Nothing is loaded, run, framed or sent anywhere, so that a page
is harmless whatever a publisher wrote, and reads the same saved to a file.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import Final

from repo_server.pages.html import Html, element, joined

_STYLE: Final = """
:root{color-scheme:light dark;--back:#fff;--text:#1b1f24;--soft:#57606a;--line:#d0d7de;--valid:#116329;
--invalid:#a40e26;--error:#7d4e00}
@media (prefers-color-scheme:dark){:root{--back:#0d1117;--text:#e6edf3;--soft:#9198a1;--line:#3d444d;--valid:#56d364;
--invalid:#ff8182;--error:#e3b341}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:70rem;padding:1rem;background:var(--back);color:var(--text);
font:1rem/1.5 system-ui,sans-serif}
h1{font-size:1.5rem;line-height:1.25;overflow-wrap:anywhere}
h2{font-size:1.15rem;margin-top:2rem}
a{color:inherit}
dl{display:grid;grid-template-columns:minmax(7rem,auto) 1fr;gap:.25rem 1rem}
dt{color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere}
code{font:.875rem/1.5 ui-monospace,monospace;overflow-wrap:anywhere}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%}
th,td{border-bottom:1px solid var(--line);padding:.375rem .75rem .375rem 0;text-align:left;vertical-align:top}
th{color:var(--soft);font-weight:600}
td code{overflow-wrap:normal}
article{border:1px solid var(--line);border-radius:.5rem;margin:1rem 0;padding:.25rem 1rem}
.verdict{font-weight:700}
.valid{color:var(--valid)}.invalid,.damage{color:var(--invalid)}.error,.unchecked,.warning{color:var(--error)}
.strip{display:block;max-width:100%}
.strip rect{fill:currentColor}.strip .line{fill:var(--line)}
footer{border-top:1px solid var(--line);color:var(--soft);margin-top:3rem;padding-top:1rem}
@media (max-width:40rem){dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.5rem}}
"""

_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_LOADS_NOTHING: Final = f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'"
HEADERS: Final = {
    "Content-Security-Policy": f"{_LOADS_NOTHING}; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def page(title: str, *body: Html) -> str:
    """A whole document."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=_LOADS_NOTHING),
        element("title", title),
        element("style", Html(_STYLE)),
    )
    return "<!doctype html>\n" + element("html", head, element("body", element("main", *body)), lang="en") + "\n"


def facts(**rows: str | None) -> Html:
    """Names and values; a ``_`` in a name stands for a blank, and what is ``None`` is left out."""
    told = [(name.replace("_", " "), value) for name, value in rows.items() if value is not None]
    return element("dl", *(joined(element("dt", name), element("dd", value)) for name, value in told))


def table(caption: str, columns: tuple[str, ...], rows: Sequence[tuple[str | None, ...]]) -> Html:
    """Rows under their heading; wide ones scroll by themselves."""
    head = element("tr", *(element("th", each, scope="col") for each in columns))
    body = [element("tr", *(element("td", cell) for cell in row)) for row in rows]
    named = element("table", element("thead", head), element("tbody", *body))
    return element("div", named, class_="wide", role="region", tabindex="0", aria_label=caption)


def verdict(text: str) -> Html:
    """A verdict in its colour."""
    return element("span", text, class_=f"verdict {text}")
