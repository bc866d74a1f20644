"""``odf token``: access tokens of the accounts of a server, where its repository lies, or one's own from elsewhere."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from catalog.scopes import DEFAULT_SCOPES, Scope, parse_patterns
from cli.account_places import NewToken, with_accounts
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line, print_table
from cli.tokens import NEVER, Expires, lasts_s
from opendatafabric.names import AccountName
from repo_server.account_states import TokenState

IS_GROUP = True
app = typer.Typer(
    help="""Make, list and revoke access tokens, on the machine of the server, or with --repo URL one's own there.

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
    new = NewToken(
        AccountName(account),
        frozenset(map(Scope.from_text, scopes or ())) or DEFAULT_SCOPES,
        parse_patterns(datasets or ()),
        lasts_s(expires),
    )
    text = with_accounts(repository, lambda place: place.create_token(new))
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
    name = None if account is None else AccountName(account)
    found = with_accounts(repository, lambda place: place.tokens(name))
    if as_json:
        print_json(found)
    else:
        print_table(COLUMNS, map(_cells, found))


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
    with_accounts(repository, lambda place: place.revoke_token(token_id))
    if as_json:
        print_json({"revoked": token_id})
    else:
        print_line(f"revoked {token_id}")


def _cells(token: TokenState) -> tuple[str, ...]:
    scopes, datasets = ",".join(token["scopes"]), ",".join(token["datasets"]) or "all"
    ends, used = token["expiresAt"] or NEVER, token["lastUsedAt"] or NEVER
    return token["id"], token["account"], scopes, datasets, token["createdAt"], ends, used, token["state"]
