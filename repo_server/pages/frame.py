"""What is around every page, and what browsers may do with it (Content Security Policy).

Scripts and styles come from here or not at all, nothing runs that stands in a page, and no page may be framed: so a
page is harmless whatever a publisher wrote. Pages that are saved as files have their style in them, allowed by its
hash, and load nothing.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import Final

from yarl import URL

from repo_server.pages.static_files import STYLE

_POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
FORM_HEADERS: Final = {**HEADERS, "Referrer-Policy": "same-origin", "Cache-Control": "no-store"}
"""Of pages with forms. Browsers that tell no referrer do not say either where a form comes from."""

_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
ALONE_POLICY: Final = f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'"
"""Of pages in files."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What surrounds a page that a server sends; ``root`` is the path that the server lies below, mostly empty."""

    root: str = ""
    name: str = "ODF Repository"
    account: str | None = None
    """Whose browser it is."""
    is_admin: bool = False
    query: str = ""
    """What was searched for."""


def frame_at(base_url: str) -> Frame:
    """The frame of a server that clients call ``base_url``."""
    return Frame(URL(base_url).raw_path.rstrip("/"))
