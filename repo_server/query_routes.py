"""Routes of questions and of looks at records."""

from __future__ import annotations

from typing import Final

from catalog.permissions import Access
from pipeline.query.answer_form import FileKind
from repo_server.auditing import Audited
from repo_server.handlers import downloads, looks, query
from repo_server.needs import ANYONE
from repo_server.route import Route

QUERY_ROUTES: Final = (
    Route("GET", "/query", query.get_query, "ask datasets in SQL", ANYONE),
    Route("POST", "/query", query.post_query, "ask datasets in SQL, at blocks or times", ANYONE, Audited.NOT),
    Route("POST", "/verify", query.post_verify, "check the proof of an answer by asking again", ANYONE, Audited.NOT),
)
"""Of the node: which datasets a caller may read is asked for each that a query names."""

LOOK_ROUTES: Final = (
    *(
        Route(
            "GET", f"/data.{kind.value}", downloads.download(kind), f"all records or some as {kind.name}", Access.READ
        )
        for kind in FileKind
    ),
    Route("GET", "/tail", looks.get_tail, "the newest records", Access.READ),
    Route("GET", "/metadata", looks.get_metadata, "what the chain says of the dataset last", Access.READ),
)
"""Of a dataset."""
