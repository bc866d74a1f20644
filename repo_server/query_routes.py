"""Routes of looks at records."""

from __future__ import annotations

from typing import Final

from catalog.permissions import Access
from repo_server.handlers import looks
from repo_server.route import Route

LOOK_ROUTES: Final = (
    Route("GET", "/tail", looks.get_tail, "the newest records", Access.READ),
    Route("GET", "/metadata", looks.get_metadata, "what the chain says of the dataset last", Access.READ),
)
"""Of a dataset."""
