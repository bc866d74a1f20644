"""``odf quota``: how much accounts and datasets have, and may have."""

from __future__ import annotations

import asyncio
import re
from typing import Annotated, Any, Final

import typer

from catalog.amounts import Amounts, Quota, told
from catalog.catalog import Catalog
from cli.catalogs import catalog_of, settings_for
from cli.datasets import opened_repository
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_table
from opendatafabric.dataset_ref import parse_dataset_ref
from opendatafabric.did import AccountId, DatasetId
from opendatafabric.errors import MalformedIdentifier
from opendatafabric.names import AccountName

IS_GROUP = True
app = typer.Typer(
    help="""Show and set how much accounts and datasets may have, on the machine of the server.

\b
Example:
    odf quota show alice --repo my-repository
""",
    no_args_is_help=True,
)

_SIZE: Final = re.compile(r"(\d{1,18})(B|KiB|MiB|GiB|TiB)?", re.ASCII)
_UNITS: Final = {None: 1, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_MOST: Final = 2**63 - 1
_ANY: Final = "any"
Subject = Annotated[str, typer.Argument(metavar="ACCOUNT|REF", help="An account, or a dataset such as alice/weather.")]
IsDataset = Annotated[bool, typer.Option("--dataset", help="It is a dataset, though its name could be an account's.")]


@app.command()
def show(
    subject: Subject, dataset: IsDataset = False, repository: RepositoryOption = ".", as_json: AsJson = False
) -> None:
    """Show what an account or a dataset has, with what is about to come, and what it may have.

    \b
    Example:
        odf quota show alice --repo my-repository
        odf quota show alice/weather --repo my-repository
    """
    _print(asyncio.run(_asked(repository, subject, None, is_dataset=dataset)), as_json=as_json)


@app.command("set")
def set_(
    subject: Subject,
    size: Annotated[
        str | None,
        typer.Option("--bytes", metavar="SIZE", help="Room: 500MiB, 10GiB, or 'any'."),
    ] = None,
    objects: Annotated[
        str | None, typer.Option("--objects", metavar="N", help="Data slices and checkpoints, or 'any'.")
    ] = None,
    datasets: Annotated[str | None, typer.Option("--datasets", metavar="N", help="Datasets, or 'any'.")] = None,
    dataset: IsDataset = False,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Let an account or a dataset have so much; what is not given is as the settings of the node say.

    \b
    Example:
        odf quota set alice --bytes 10GiB --datasets 20 --repo my-repository
        odf quota set alice/weather --bytes any --repo my-repository
    """
    wanted = Quota(_count(size), _count(objects), _count(datasets))
    _print(asyncio.run(_asked(repository, subject, wanted, is_dataset=dataset)), as_json=as_json)


async def _asked(repository: str, subject: str, wanted: Quota | None, *, is_dataset: bool) -> tuple[Amounts, Quota]:
    limits = settings_for(repository).quota_limits
    async with catalog_of(repository) as catalog:
        found = await _subject(repository, catalog, subject, is_dataset=is_dataset)
        if wanted is not None:
            await catalog.quotas.set(found, wanted)
        quota = await catalog.quotas.find(found)
        if isinstance(found, AccountId):
            return await catalog.quotas.of_account(found), quota.or_else(limits.account)
        return await catalog.quotas.of_dataset(found), quota.or_else(limits.dataset)


async def _subject(repository: str, catalog: Catalog, text: str, *, is_dataset: bool) -> AccountId | DatasetId:
    if not is_dataset and "/" not in text and not text.startswith("did:"):
        return (await catalog.accounts.find(AccountName(text))).id
    async with opened_repository(repository) as opened:
        return (await opened.find(parse_dataset_ref(text))).id


def _count(text: str | None) -> int | None:
    if text is None or text == _ANY:
        return None if text is None else 0
    found = _SIZE.fullmatch(text)
    count = None if found is None else int(found[1]) * _UNITS[found[2]]
    if not count or count > _MOST:
        raise MalformedIdentifier(f"{text[:100]!r} is no size", expected="such as 500MiB, 10GiB, 1000, or any")
    return count


def _print(found: tuple[Amounts, Quota], *, as_json: bool) -> None:
    used, quota = found
    if as_json:
        print_json({"used": used.as_dict(), "quota": quota.as_dict()})
        return
    print_table(("", "HAS", "MAY HAVE"), [_row(name, used.as_dict(), quota.as_dict()) for name in used.as_dict()])


def _row(name: str, used: dict[str, int], quota: dict[str, Any]) -> tuple[str, str, str]:
    return name, told(name, used[name]), told(name, quota[name]) if quota[name] else _ANY
