"""``odf role``: who may do what with datasets that are not their own, set where the server's repository lies, or
in one dataset by the server."""

from __future__ import annotations

import asyncio
from typing import Annotated
from urllib.parse import quote

import typer

from catalog.roles import Role
from cli.lifecycles import Told, server_path
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line, print_table
from cli.places import AccountOption, DatasetOption, Given, HolderArgument, dataset_at_server, places_in
from cli.server_deeds import done_by_server

IS_GROUP = True
app = typer.Typer(
    help="""Give, take and list roles: reader, writer, maintainer, owner.

\b
Example:
    odf role grant bob writer --dataset alice/weather --repo my-repository
""",
    no_args_is_help=True,
)


@app.command()
def grant(
    holder: HolderArgument,
    role: Annotated[str, typer.Argument(metavar="ROLE", help="reader, writer, maintainer or owner.")],
    dataset: DatasetOption = None,
    account: AccountOption = None,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Give an account or a team a role in one dataset, or in all datasets of an account. It replaces the one before.

    A reader reads; a writer also pushes and ingests; a maintainer also sets schedules, gates and alerts, and gives
    roles up to writer; an owner may do everything.

    \b
    Example:
        odf role grant bob writer --dataset alice/weather --repo my-repository
        odf role grant team:developers maintainer --account acme --repo my-repository
    """
    asyncio.run(_set(repository, Given(dataset, account), holder, Role.from_text(role)))
    if as_json:
        print_json({"holder": holder, "role": role, "place": dataset or account})
    else:
        print_line(f"{holder} is {role} in {dataset or account}")


@app.command()
def revoke(
    holder: HolderArgument,
    dataset: DatasetOption = None,
    account: AccountOption = None,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Take the role away that was given there, at once. Roles that were given elsewhere stay.

    \b
    Example:
        odf role revoke bob --dataset alice/weather --repo my-repository
    """
    asyncio.run(_set(repository, Given(dataset, account), holder, None))
    if as_json:
        print_json({"holder": holder, "role": None, "place": dataset or account})
    else:
        print_line(f"{holder} has no role in {dataset or account}")


@app.command("list")
def list_(
    dataset: DatasetOption = None,
    account: AccountOption = None,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """List the roles that were given in a dataset, or in an account for all its datasets.

    \b
    Example:
        odf role list --dataset alice/weather --repo my-repository
    """
    grants = asyncio.run(_list(repository, Given(dataset, account)))
    if as_json:
        print_json(grants)
    else:
        print_table(("WHO", "ROLE"), [(each["holder"], each["role"]) for each in grants])


async def _set(repository: str, given: Given, holder: str, role: Role | None) -> None:
    there = await dataset_at_server(given, repository)
    if there is not None:
        path = f"{server_path(there)}/roles/{quote(holder, safe=':')}"
        await done_by_server("DELETE" if role is None else "PUT", path, None if role is None else {"role": role.value})
        return
    async with places_in(repository) as places:
        place, owner = await places.place(given)
        await places.catalog.roles.grant(place, await places.holder(holder, owner), role)


async def _list(repository: str, given: Given) -> list[Told]:
    """Who holds which role."""
    there = await dataset_at_server(given, repository)
    if there is not None:
        return list((await done_by_server("GET", f"{server_path(there)}/roles"))["roles"])
    async with places_in(repository) as places:
        place, _ = await places.place(given)
        return [{"holder": each.written, "role": each.role.value} for each in await places.catalog.roles.list(place)]
