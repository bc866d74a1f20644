"""``odf export``: datasets as a tree that any web server can give away."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from catalog.catalog import open_catalog
from catalog.visibility import Visibility
from cli.catalogs import settings_for
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line, print_text
from cli.progress import progress_bars
from cli.transfers import print_transfer
from repo_server.config import Settings
from storage.open import open_repository, open_static_tree
from storage.repository import DatasetEntry
from sync.static_export import Exported, export_static
from sync.static_serving import RULES, SNIPPETS


def command(
    static: Annotated[
        str, typer.Option("--static", metavar="DIR|URL", help="Where the tree lies: a folder, or an address in S3.")
    ],
    private_too: Annotated[bool, typer.Option("--all", help="Private datasets too, for whoever reaches them.")] = False,
    snippet: Annotated[
        str | None,
        typer.Option("--snippet", metavar="SERVER", help="Only print what a web server needs: caddy or nginx."),
    ] = None,
    site: Annotated[str, typer.Option("--site", metavar="ADDRESS", help="What the snippet listens on.")] = ":8080",
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Write the public datasets as a tree for the simple protocol: any web server, bucket or CDN can serve it.

    A second time only what is new is written, heads last; datasets that are public no longer are removed.

    \b
    Example:
        odf export --static /srv/data --repo my-repository
        odf export --static /srv/data --snippet caddy
        odf pull http://data.example.org/alice/weather
    """
    if snippet is not None:
        _print_snippet(snippet, static, site, as_json=as_json)
        return
    asyncio.run(_export(settings_for(repository), static, private_too=private_too, as_json=as_json))


def _print_snippet(server: str, root: str, site: str, *, as_json: bool) -> None:
    if server not in SNIPPETS:
        raise typer.BadParameter(f"--snippet is one of {', '.join(SNIPPETS)}")
    text = SNIPPETS[server](Path(root).resolve(), site)
    rules = [{"pattern": rule.pattern, "cacheControl": rule.cache_control} for rule in RULES]
    if as_json:
        print_json({"server": server, "snippet": text, "rules": rules})
    else:
        print_text(text)


async def _export(settings: Settings, address: str, *, private_too: bool, as_json: bool) -> None:
    tree = open_static_tree(address)
    entries = await _chosen(settings, private_too=private_too)
    with progress_bars() as advance:
        async for exported in export_static(entries, tree, progress=advance):
            _print_exported(exported, as_json=as_json)


async def _chosen(settings: Settings, *, private_too: bool) -> list[DatasetEntry]:
    repository = await open_repository(str(settings.repo))
    async with open_catalog(settings.database_url) as catalog:
        chosen = []
        async for entry in repository.iterate():
            record = await catalog.datasets.find(entry.id)
            visibility = settings.default_visibility if record is None else record.visibility
            if private_too or visibility is Visibility.PUBLIC:
                chosen.append(entry)
        return chosen


def _print_exported(exported: Exported, *, as_json: bool) -> None:
    if exported.result is not None:
        print_transfer(str(exported.alias), exported.result, as_json=as_json)
    elif as_json:
        print_json({"name": str(exported.alias), "removed": True}, indent=None)
    else:
        print_line(f"{exported.alias}: removed, it is public no longer")
