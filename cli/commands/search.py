"""``odf search``: datasets by the words in them."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_note, print_table
from cli.searches import found_in
from repo_server.listing import A_PAGE
from repo_server.paging import LIMIT_MAX

COLUMNS = ("NAME", "KIND", "RECORDS", "UPDATED", "LICENCE", "VERIFICATION", "DESCRIPTION")
FIELDS = ("alias", "kind", "records", "updatedAt", "license", "standing", "description")
_CELL_CHARS = 60


def command(
    words: Annotated[list[str] | None, typer.Argument(metavar="[WORD]…", help="All of them have to be there.")] = None,
    kind: Annotated[str, typer.Option("--kind", help="root or derivative.")] = "",
    standing: Annotated[str, typer.Option("--standing", help="verified, stale, failing or unknown.")] = "",
    license_: Annotated[str, typer.Option("--license", help="The SPDX id of a licence.")] = "",
    keyword: Annotated[str, typer.Option("--keyword", help="With that keyword.")] = "",
    account: Annotated[str, typer.Option("--account", metavar="NAME", help="Of that account.")] = "",
    updated_since: Annotated[str, typer.Option("--updated-since", metavar="T", help="A date or a time.")] = "",
    updated_before: Annotated[str, typer.Option("--updated-before", metavar="T", help="A date or a time.")] = "",
    sort: Annotated[str, typer.Option("--sort", help="relevance, newest, name or size.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, max=LIMIT_MAX, help="How many at most.")] = A_PAGE,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Find datasets by words in their names, keywords, descriptions, columns, queries and licences; the best first.

    The last word may go on. At a server that finds what you may see there.

    \b
    Example:
        odf search weather --repo examples/datasets
        odf search seattle weath --kind root --repo http://127.0.0.1:8080
    """
    values = {
        "q": " ".join(words or ()),
        "kind": kind,
        "standing": standing,
        "license": license_,
        "keyword": keyword,
        "account": account,
        "updatedSince": updated_since,
        "updatedBefore": updated_before,
        "sort": sort,
    }
    found = asyncio.run(found_in(repository, values, limit))
    if as_json:
        print_json(found)
    elif not found:
        print_note("nothing is like that")
    else:
        print_table(COLUMNS, [[_cell(each, name) for name in FIELDS] for each in found])


def _cell(entry: dict[str, Any], name: str) -> str:
    text = "" if entry[name] is None else str(entry[name])
    return text if len(text) <= _CELL_CHARS else f"{text[:_CELL_CHARS]}…"
