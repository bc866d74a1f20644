"""``odf login``: get an access token from a server with a browser, or keep one that is given."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer

from cli.browser_login import open_page, token_by_browser
from cli.ci_login import token_of_run
from cli.options import AsJson
from cli.output import print_json, print_line, print_note
from opendatafabric.errors import AuthenticationRequired
from sync.credentials import origin_of, save_token


def command(
    url: Annotated[str, typer.Argument(metavar="URL", help="The server.")],
    access_token: Annotated[
        str | None, typer.Option("--access-token", metavar="T", help="The token; better piped in than written here.")
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser", help="Log in with a browser, also where standard input is no terminal.")
    ] = False,
    ci: Annotated[
        bool,
        typer.Option("--ci", help="Log in as a run of a CI system, for the datasets that trust it."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Keep an access token for a server; pull and push send it there and nowhere else.

    It comes from a login with a browser, on this machine or any other: the page is shown, and opened if that can be
    done here. A token that exists already is given, or read from standard input if that is no terminal.

    \b
    Example:
        odf login https://data.example.org
        odf token create alice --repo my-repository | odf login http://127.0.0.1:8080
        odf login https://data.example.org --ci
    """
    origin = origin_of(url)
    if ci:
        access_token = asyncio.run(token_of_run(origin))
    elif access_token is None and (browser or sys.stdin.isatty()):
        access_token = asyncio.run(token_by_browser(origin, _show))
    token = (access_token if access_token is not None else sys.stdin.readline()).strip()
    if not token or any(character.isspace() for character in token):
        raise AuthenticationRequired("no access token was given", hint="odf token create ACCOUNT prints one")
    path = save_token(url, token)
    if as_json:
        print_json({"origin": origin, "file": str(path)})
    else:
        print_line(f"token for {origin} kept in {path}")


def _show(page: str) -> None:
    print_note(f"odf: log in at {page}")
    if sys.stdin.isatty():
        open_page(page)
