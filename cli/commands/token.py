"""``odf token``: access tokens of the accounts of a server, made where the server's repository lies."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Annotated, Final

import typer

from catalog.scopes import DEFAULT_SCOPES, Patterns, Scope, parse_patterns
from catalog.tokens import TokenInfo
from cli.catalogs import catalog_of
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line, print_table
from cli.tokens import NEVER, Expires, expires_at
from opendatafabric.names import AccountName
from repo_server.account_states import plain_token

IS_GROUP = True
app = typer.Typer(
    help="""Make, list and revoke access tokens, on the machine of the server.

\b
Example:
    odf token create alice --repo my-repository
""",
    no_args_is_help=True,
)

COLUMNS: Final = ("ID", "ACCOUNT", "SCOPES", "DATASETS", "CREATED", "EXPIRES", "LAST USED", "STATE")


@app.command()
def create(
    account: Annotated[str, typer.Argument(metavar="ACCOUNT", help="Made if it is new.")],
    scopes: Annotated[
        list[str] | None, typer.Option("--scope", metavar="SCOPE", help="What it allows; datasets:push if not given.")
    ] = None,
    datasets: Annotated[
        list[str] | None, typer.Option("--dataset", metavar="PATTERN", help="Where it counts; everywhere if not given.")
    ] = None,
    expires: Expires = None,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Make an access token and print it, and nothing else. It is not kept and cannot be shown again.

    Scopes are datasets:read, datasets:push (pull too), datasets:manage (push too), accounts:manage and admin (all of
    them). A token never allows more than its account may do. It ends after ODF_TOKEN_DAYS if --expires is not given.

    \b
    Example:
        odf token create alice --repo my-repository
        odf token create robot --scope datasets:read --expires 30d
        odf token create robot --dataset alice/weather --dataset "alice/net.*"
    """
    wanted = _Wanted(
        AccountName(account),
        frozenset(map(Scope.from_text, scopes or ())) or DEFAULT_SCOPES,
        parse_patterns(datasets or ()),
        expires_at(repository, expires),
    )
    text = asyncio.run(_create(repository, wanted))
    if as_json:
        print_json({"account": account, "token": text})
    else:
        print_line(text)


@app.command("list")
def list_(
    account: Annotated[str | None, typer.Argument(metavar="ACCOUNT", help="All accounts if not given.")] = None,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """List tokens by their ids; their texts are not known.

    \b
    Example:
        odf token list alice --repo my-repository
    """
    infos = asyncio.run(_list(repository, None if account is None else AccountName(account)))
    if as_json:
        print_json([plain_token(info, time.time()) for info in infos])
    else:
        print_table(COLUMNS, [_cells(info) for info in infos])


@app.command()
def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="As 'odf token list' shows it.")],
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """End a token at once, for every server over the repository.

    \b
    Example:
        odf token revoke 8c5e3a52-7c1e-4a53-a8a4-0c6f3b0e9d11 --repo my-repository
    """
    asyncio.run(_revoke(repository, token_id))
    if as_json:
        print_json({"revoked": token_id})
    else:
        print_line(f"revoked {token_id}")


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The token that is asked for."""

    account: AccountName
    scopes: frozenset[Scope]
    datasets: Patterns
    expires_at: float | None


async def _create(repository: str, wanted: _Wanted) -> str:
    async with catalog_of(repository) as catalog:
        account = await catalog.accounts.find_or_create(wanted.account)
        return await catalog.tokens.create(
            account, wanted.scopes, datasets=wanted.datasets, expires_at=wanted.expires_at
        )


async def _list(repository: str, name: AccountName | None) -> list[TokenInfo]:
    async with catalog_of(repository) as catalog:
        return await catalog.tokens.list(None if name is None else await catalog.accounts.find(name))


async def _revoke(repository: str, token_id: str) -> None:
    async with catalog_of(repository) as catalog:
        await catalog.tokens.revoke(token_id)


def _cells(info: TokenInfo) -> tuple[str, ...]:
    plain = plain_token(info, time.time())
    scopes, datasets = ",".join(plain["scopes"]), ",".join(plain["datasets"]) or "all"
    ends, used = plain["expiresAt"] or NEVER, plain["lastUsedAt"] or NEVER
    return plain["id"], plain["account"], scopes, datasets, plain["createdAt"], ends, used, plain["state"]
