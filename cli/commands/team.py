"""``odf team``: named sets of accounts within an account or organisation, which are given roles together."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from cli.catalogs import catalog_of
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line, print_table
from opendatafabric.names import AccountName

IS_GROUP = True
app = typer.Typer(
    help="""Make, list and remove teams of an account or organisation.

\b
Example:
    odf team set acme developers alice bob --repo my-repository
""",
    no_args_is_help=True,
)

AccountArgument = Annotated[str, typer.Argument(metavar="ACCOUNT", help="Whose team it is.")]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="What the team is called there.")]


@app.command("set")
def set_(
    account: AccountArgument,
    name: NameArgument,
    members: Annotated[list[str] | None, typer.Argument(metavar="MEMBER…", help="All accounts in it.")] = None,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Have a team of exactly these accounts. One that is there keeps its roles; who is not named is in it no longer.

    \b
    Example:
        odf team set acme developers alice bob --repo my-repository
    """
    asyncio.run(_set(repository, AccountName(account), AccountName(name), members or []))
    if as_json:
        print_json({"account": account, "name": name, "members": members or []})
    else:
        print_line(f"{account}: team {name} has {len(members or [])} members")


@app.command("list")
def list_(account: AccountArgument, repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """List the teams of an account with their members.

    \b
    Example:
        odf team list acme --repo my-repository
    """
    found = asyncio.run(_list(repository, AccountName(account)))
    if as_json:
        print_json([{"name": name, "members": members} for name, members in found])
    else:
        print_table(("TEAM", "MEMBERS"), [(name, ", ".join(members)) for name, members in found])


@app.command()
def remove(
    account: AccountArgument, name: NameArgument, repository: RepositoryOption = ".", as_json: AsJson = False
) -> None:
    """Have the team no longer; the roles it was given end with it.

    \b
    Example:
        odf team remove acme developers --repo my-repository
    """
    asyncio.run(_remove(repository, AccountName(account), AccountName(name)))
    if as_json:
        print_json({"account": account, "removed": name})
    else:
        print_line(f"{account}: no team {name}")


async def _set(repository: str, account: AccountName, name: AccountName, members: list[str]) -> None:
    async with catalog_of(repository) as catalog:
        owner = await catalog.accounts.find(account)
        found = [await catalog.accounts.find(AccountName(each)) for each in members]
        await catalog.teams.set(owner, name, found)


async def _list(repository: str, account: AccountName) -> list[tuple[str, list[str]]]:
    async with catalog_of(repository) as catalog:
        teams = await catalog.teams.list(await catalog.accounts.find(account))
        return [(str(team.name), [str(each) for each in await catalog.teams.members(team)]) for team in teams]


async def _remove(repository: str, account: AccountName, name: AccountName) -> None:
    async with catalog_of(repository) as catalog:
        team = await catalog.teams.find(await catalog.accounts.find(account), name)
        await catalog.teams.remove(team)
