"""``odf account``: the accounts of a server, on the machine where its repository lies."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Final, TypeVar

import typer

from catalog.accounts import Account, AccountKind, Accounts
from catalog.catalog import Catalog
from catalog.scopes import Scope
from cli.catalogs import catalog_of
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line, print_table
from cli.secret_input import read_secret
from cli.tokens import Expires, expires_at
from opendatafabric.names import AccountName
from repo_server.account_states import plain_account

IS_GROUP = True
app = typer.Typer(
    help="""Make, list, disable and enable accounts, on the machine of the server.

\b
Example:
    odf account create alice --repo my-repository
""",
    no_args_is_help=True,
)

COLUMNS: Final = ("ACCOUNT", "KIND", "ID", "PASSWORD", "STATE")
Name = Annotated[str, typer.Argument(metavar="NAME")]
T = TypeVar("T")


@app.command()
def bootstrap(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="Made if it is new.", show_default=False)] = "admin",
    expires: Expires = None,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Make the first administrator of a server, and print an access token for everything, once.

    Refused when there is an administrator: who has become one makes others.

    \b
    Example:
        odf account bootstrap --repo my-repository
        odf account bootstrap alice --expires 1d
    """
    account_name, ends = AccountName(name), expires_at(repository, expires)

    async def work(catalog: Catalog) -> str:
        account = await catalog.accounts.bootstrap(account_name)
        return await catalog.tokens.create(account, [Scope.ADMIN], expires_at=ends)

    text = _with(repository, work)
    if as_json:
        print_json({"account": name, "token": text})
    else:
        print_line(text)


@app.command()
def create(
    name: Name,
    organization: Annotated[bool, typer.Option("--organization", help="It has members, and never logs in.")] = False,
    admin: Annotated[bool, typer.Option("--admin", help="It administers the server.")] = False,
    password: Annotated[bool, typer.Option("--password", help="It logs in with one, asked for or piped in.")] = False,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Make an account, of a user unless it says otherwise.

    \b
    Example:
        odf account create alice --repo my-repository
        odf account create weather-office --organization
    """
    given = read_secret("Password", twice=True) if password else None
    kind = AccountKind.ORGANIZATION if organization else AccountKind.USER
    _change(
        repository,
        lambda accounts: accounts.create(AccountName(name), password=given, is_admin=admin, kind=kind),
        as_json=as_json,
    )


@app.command("list")
def list_(repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """List the accounts.

    \b
    Example:
        odf account list --repo my-repository
    """
    found = _with(repository, lambda catalog: catalog.accounts.list())
    if as_json:
        print_json([plain_account(account) for account in found])
    else:
        print_table(COLUMNS, [_cells(account) for account in found])


@app.command()
def show(name: Name, repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """Show one account.

    \b
    Example:
        odf account show alice --repo my-repository
    """
    _change(repository, lambda accounts: accounts.find(AccountName(name)), as_json=as_json)


@app.command("set-password")
def set_password(name: Name, repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """Give a user a password in place of the one it may have: asked for, or a line of standard input.

    Tokens that the account has stay good: 'odf token list' and 'odf token revoke' end them.

    \b
    Example:
        odf account set-password alice --repo my-repository < password.txt
    """
    password = read_secret("New password", twice=True)
    _change(repository, lambda accounts: accounts.set_password(AccountName(name), password), as_json=as_json)


@app.command()
def disable(name: Name, repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """Let an account do nothing any more, at once: its tokens and its password count no longer. What it owns stays.

    \b
    Example:
        odf account disable mallory --repo my-repository
    """
    _change(repository, lambda accounts: accounts.disable(AccountName(name)), as_json=as_json)


@app.command()
def enable(name: Name, repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """Let an account that was disabled do again what it could, with the tokens it had.

    \b
    Example:
        odf account enable mallory --repo my-repository
    """
    _change(repository, lambda accounts: accounts.enable(AccountName(name)), as_json=as_json)


@app.command("make-admin")
def make_admin(name: Name, repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """Make a user an administrator of the server. Tokens administer only if they have the scope admin.

    \b
    Example:
        odf account make-admin alice --repo my-repository
    """
    _change(repository, lambda accounts: accounts.set_admin(AccountName(name), is_admin=True), as_json=as_json)


@app.command("unmake-admin")
def unmake_admin(name: Name, repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """Make an administrator a user as any. The last one stays.

    \b
    Example:
        odf account unmake-admin alice --repo my-repository
    """
    _change(repository, lambda accounts: accounts.set_admin(AccountName(name), is_admin=False), as_json=as_json)


def _change(repository: str, change: Callable[[Accounts], Awaitable[Account]], *, as_json: bool) -> None:
    """Do something with an account, and show what it is then."""
    account = _with(repository, lambda catalog: change(catalog.accounts))
    if as_json:
        print_json(plain_account(account))
    else:
        print_line("  ".join(_cells(account)))


def _with(repository: str, work: Callable[[Catalog], Awaitable[T]]) -> T:
    async def opened() -> T:
        async with catalog_of(repository) as catalog:
            return await work(catalog)

    return asyncio.run(opened())


def _cells(account: Account) -> tuple[str, ...]:
    plain = plain_account(account)
    state = "disabled" if account.disabled else "administrator" if account.is_admin else "enabled"
    return plain["accountName"], plain["kind"], plain["id"], "yes" if account.has_password else "no", state
