"""``odf account``: the accounts of a server, where its repository lies, or as an administrator from elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Final, TypeVar

import typer

from catalog.account_changes import AccountChange
from catalog.accounts import Account, AccountKind
from catalog.external_identities import ExternalIdentities
from catalog.scopes import Scope
from cli.account_places import NewAccount, with_accounts
from cli.catalogs import catalog_of
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line, print_table
from cli.secret_input import read_secret
from cli.tokens import Expires, ends_at, lasts_s
from opendatafabric.names import AccountName
from repo_server.account_states import AccountState

IS_GROUP = True
app = typer.Typer(
    help="""Make, list, change and delete accounts, on the machine of the server; with --repo URL for administrators.

\b
Example:
    odf account create alice --repo my-repository
""",
    no_args_is_help=True,
)

COLUMNS: Final = ("ACCOUNT", "KIND", "ID", "PASSWORD", "STATE")
Name = Annotated[str, typer.Argument(metavar="NAME")]
Issuer = Annotated[str, typer.Argument(metavar="ISSUER", help="Its address, as its tokens have it.")]
Subject = Annotated[str, typer.Argument(metavar="SUBJECT", help="What the issuer calls whoever logs in.")]
T = TypeVar("T")


@app.command()
def bootstrap(
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="Must be new; admin if not given.", show_default=False)
    ] = "admin",
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
    text = asyncio.run(_bootstrap(repository, AccountName(name), ends_at(repository, lasts_s(expires))))
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
    new = NewAccount(AccountName(name), kind, admin, given)
    _print(with_accounts(repository, lambda place: place.create(new)), as_json=as_json)


@app.command("list")
def list_(repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """List the accounts.

    \b
    Example:
        odf account list --repo my-repository
    """
    found = with_accounts(repository, lambda place: place.accounts())
    if as_json:
        print_json(found)
    else:
        print_table(COLUMNS, [_cells(account) for account in found])


@app.command()
def show(name: Name, repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """Show one account.

    \b
    Example:
        odf account show alice --repo my-repository
    """
    _print(with_accounts(repository, lambda place: place.show(AccountName(name))), as_json=as_json)


@app.command("set-password")
def set_password(name: Name, repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """Give a user a password in place of the one it may have: asked for, or a line of standard input.

    Tokens that the account has stay good: 'odf token list' and 'odf token revoke' end them.

    \b
    Example:
        odf account set-password alice --repo my-repository < password.txt
    """
    _change(repository, name, AccountChange(password=read_secret("New password", twice=True)), as_json=as_json)


@app.command()
def disable(name: Name, repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """Let an account do nothing any more, at once: its tokens and its password count no longer. What it owns stays.

    \b
    Example:
        odf account disable mallory --repo my-repository
    """
    _change(repository, name, AccountChange(disabled=True), as_json=as_json)


@app.command()
def enable(name: Name, repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """Let an account that was disabled do again what it could, with the tokens it had.

    \b
    Example:
        odf account enable mallory --repo my-repository
    """
    _change(repository, name, AccountChange(disabled=False), as_json=as_json)


@app.command()
def rename(
    name: Name,
    new_name: Annotated[str, typer.Argument(metavar="NEW-NAME", help="What it is called from now on.")],
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Give an account another name, and its datasets with it. Its tokens stay; the old names are kept for it a while.

    \b
    Example:
        odf account rename alice alice-m --repo my-repository
    """
    wanted = AccountName(new_name)
    _print(with_accounts(repository, lambda place: place.rename(AccountName(name), wanted)), as_json=as_json)


@app.command()
def delete(name: Name, repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """Delete an account that owns no datasets: its tokens, logins and roles end at once. At a server also one's own.

    \b
    Example:
        odf account delete mallory --repo my-repository
    """
    with_accounts(repository, lambda place: place.delete(AccountName(name)))
    if as_json:
        print_json({"deleted": name})
    else:
        print_line(f"{name} is deleted")


@app.command("make-admin")
def make_admin(name: Name, repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """Make a user an administrator of the server. Tokens administer only if they have the scope admin.

    \b
    Example:
        odf account make-admin alice --repo my-repository
    """
    _change(repository, name, AccountChange(is_admin=True), as_json=as_json)


@app.command("unmake-admin")
def unmake_admin(name: Name, repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """Make an administrator a user as any. The last one stays.

    \b
    Example:
        odf account unmake-admin alice --repo my-repository
    """
    _change(repository, name, AccountChange(is_admin=False), as_json=as_json)


@app.command()
def identities(name: Name, repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """List by which identities of issuers elsewhere somebody logs in to an account; on the machine of the server.

    \b
    Example:
        odf account identities alice --repo my-repository
    """
    found = asyncio.run(_with_identities(repository, name, ExternalIdentities.of))
    if as_json:
        print_json([{"issuer": issuer, "subject": subject} for issuer, subject in found])
    else:
        print_table(("ISSUER", "SUBJECT"), found)


@app.command()
def link(
    name: Name, issuer: Issuer, subject: Subject, repository: RepositoryOption = ".", as_json: AsJson = False
) -> None:
    """Let somebody whom an issuer calls SUBJECT log in to an account that is there, also one with a password.

    \b
    Example:
        odf account link alice https://id.example.org 248289761001 --repo my-repository
    """
    asyncio.run(_with_identities(repository, name, lambda all_, account: all_.link(issuer, subject, account)))
    _print_identity(name, issuer, subject, "logs in to", as_json=as_json)


@app.command()
def unlink(
    name: Name, issuer: Issuer, subject: Subject, repository: RepositoryOption = ".", as_json: AsJson = False
) -> None:
    """Let an identity log in to an account no longer. Tokens that it got stay good until they are revoked or end.

    \b
    Example:
        odf account unlink alice https://id.example.org 248289761001 --repo my-repository
    """
    asyncio.run(_with_identities(repository, name, lambda all_, account: all_.unlink(issuer, subject, account)))
    _print_identity(name, issuer, subject, "logs in no longer to", as_json=as_json)


async def _with_identities(
    repository: str, name: str, work: Callable[[ExternalIdentities, Account], Awaitable[T]]
) -> T:
    async with catalog_of(repository) as catalog:
        return await work(catalog.external_identities, await catalog.accounts.find(AccountName(name)))


def _print_identity(name: str, issuer: str, subject: str, does: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"account": name, "issuer": issuer, "subject": subject})
    else:
        print_line(f"{subject} of {issuer} {does} {name}")


async def _bootstrap(repository: str, name: AccountName, ends: float | None) -> str:
    async with catalog_of(repository) as catalog:
        account = await catalog.accounts.bootstrap(name)
        return await catalog.tokens.create(account, [Scope.ADMIN], expires_at=ends)


def _change(repository: str, name: str, change: AccountChange, *, as_json: bool) -> None:
    _print(with_accounts(repository, lambda place: place.change(AccountName(name), change)), as_json=as_json)


def _print(account: AccountState, *, as_json: bool) -> None:
    if as_json:
        print_json(account)
    else:
        print_line("  ".join(_cells(account)))


def _cells(account: AccountState) -> tuple[str, ...]:
    state = "disabled" if account["disabled"] else "administrator" if account["isAdmin"] else "enabled"
    return account["accountName"], account["kind"], account["id"], "yes" if account["hasPassword"] else "no", state
