"""``odf login``: keep an access token for a server."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cli.credentials import origin_of, save_token
from cli.options import AsJson
from cli.output import print_json, print_line
from opendatafabric.errors import AuthenticationRequired


def command(
    url: Annotated[str, typer.Argument(metavar="URL", help="The server.")],
    access_token: Annotated[
        str | None, typer.Option("--access-token", metavar="T", help="The token; better piped in than written here.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Keep an access token for a server; pull and push send it there and nowhere else.

    Without --access-token it is asked for, or read from standard input if that is no terminal.

    \b
    Example:
        odf login http://127.0.0.1:8080
        odf token create alice --repo my-repository | odf login http://127.0.0.1:8080
    """
    origin = origin_of(url)
    token = (access_token if access_token is not None else _read_token()).strip()
    if not token or any(character.isspace() for character in token):
        raise AuthenticationRequired("no access token was given", hint="odf token create ACCOUNT prints one")
    path = save_token(url, token)
    if as_json:
        print_json({"origin": origin, "file": str(path)})
    else:
        print_line(f"token for {origin} kept in {path}")


def _read_token() -> str:
    if sys.stdin.isatty():
        return str(typer.prompt("Access token", hide_input=True, err=True))
    return sys.stdin.readline()
