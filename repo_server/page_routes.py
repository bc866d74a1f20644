"""The part of the table of routes that people look at first: the same paths give programs JSON."""

from __future__ import annotations

from typing import Final

from catalog.permissions import Access
from repo_server.handlers import dataset_pages, home, lineage, operators, run_events, token_pages
from repo_server.needs import ADMIN, ANYONE, UNASKED
from repo_server.route import Route

HOME_ROUTES: Final = (
    Route("GET", "/", home.get_home, "the newest datasets, or those that hold some words", ANYONE),
    Route("GET", token_pages.TOKENS_PATH, token_pages.get_tokens, "the tokens of whoever is logged in", UNASKED),
    Route("POST", token_pages.TOKENS_PATH, token_pages.post_token, "make one", UNASKED),
    Route("POST", f"{token_pages.TOKENS_PATH}/revoke", token_pages.post_revocation, "end one", UNASKED),
    Route("GET", "/v/admin", operators.get_admin, "how the node is, for administrators", ADMIN),
)
ACCOUNT_PAGE_ROUTES: Final = (Route("GET", "/{account}", home.get_account, "the datasets of an account", ANYONE),)
"""Routes of a server with accounts."""

DATASET_PAGE_ROUTES: Final = (
    Route("GET", "", dataset_pages.get_dataset, "what the chain of the dataset says", Access.READ),
    Route("GET", "/lineage", lineage.get_lineage, "what it is made of, and what is made of it", Access.READ),
    Route("GET", "/lineage.svg", lineage.get_svg, "the same as a drawing", Access.READ),
    Route(
        "GET",
        "/lineage/openlineage",
        run_events.get_run_events,
        "its steps as run events of OpenLineage",
        Access.READ,
    ),
    Route("GET", "/log", dataset_pages.get_log, "its blocks, the newest first", Access.READ),
    Route("GET", "/log/{hash}", dataset_pages.get_logged_block, "one block, read", Access.READ),
)
