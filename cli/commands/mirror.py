"""``odf mirror``: copies of datasets elsewhere, or of datasets from elsewhere, that keep themselves up to date."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Annotated, Any, Final

import aiohttp
import typer

from catalog.mirrors import ON_CHANGE, Direction, Mirror, MirroredDataset, NewMirror
from cli.catalogs import catalog_of, settings_for
from cli.exit_codes import ExitCode
from cli.ipfs import ipfs_access
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line, print_note, print_table
from opendatafabric.dataset_patterns import DatasetAliasPattern
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import MalformedIdentifier
from opendatafabric.names import AccountName
from repo_server.background.mirror import MirrorRunner
from repo_server.background.mirror_target import MirrorPlace
from repo_server.mirror_states import plain_mirror
from repo_server.moments import moment
from storage.cron import next_strike
from storage.open import open_repository
from sync.credentials import token_for
from sync.mirror import MirrorTools, push_kind
from sync.remote import parse_remote

IS_GROUP = True
app = typer.Typer(
    help="""Keep copies of datasets up to date, here or elsewhere.

\b
Example:
    odf mirror add odf+https://other.example.org/alice/ --push % --repo my-repository
""",
    no_args_is_help=True,
)
COLUMNS: Final = ("ID", "DIRECTION", "TARGET", "DATASETS", "SCHEDULE", "LAST SUCCESS", "NEXT RUN", "LAG", "STATE")
MirrorId = Annotated[int, typer.Argument(metavar="ID", help="As 'odf mirror status' shows it.")]


@app.command()
def add(
    target: Annotated[
        str, typer.Argument(metavar="URL", help="The other repository, ending in /, or one dataset there.")
    ],
    push: Annotated[str | None, typer.Option("--push", metavar="PATTERN", help="Datasets to send; % is any.")] = None,
    pull: Annotated[
        list[str] | None, typer.Option("--pull", metavar="NAME", help="A dataset to fetch; may be repeated.")
    ] = None,
    schedule: Annotated[
        str | None,
        typer.Option("--schedule", metavar="CRON", help="Five fields of cron, in UTC, or on-change."),
    ] = None,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Mirror datasets to or from another place. The server over the repository runs it; so does 'odf mirror run'.

    The token that 'odf login' keeps for the address is taken along.

    \b
    Example:
        odf mirror add odf+https://other.example.org/alice/ --push 'us.%' --repo my-repository
        odf mirror add odf+https://other.example.org/bob/ --pull weather --schedule '17 * * * *'
    """
    new = _new_mirror(target, push, pull, schedule)
    mirror_id = asyncio.run(_add(repository, new))
    if as_json:
        print_json({"id": mirror_id})
    else:
        print_line(f"mirror {mirror_id}")


@app.command()
def run(mirror_id: MirrorId, repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """Run a mirror now, due or not. Ends with 1 when a dataset could not be copied.

    \b
    Example:
        odf mirror run 1 --repo my-repository
    """
    error = asyncio.run(_run(repository, mirror_id))
    if as_json:
        print_json({"id": mirror_id, "error": error})
    elif error is None:
        print_line(f"mirror {mirror_id}: up to date")
    if error is not None:
        print_note(f"odf: mirror {mirror_id}: {error}")
        raise typer.Exit(ExitCode.FAILED)


@app.command()
def status(repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """Show every mirror: how far it came, what went wrong, when it runs next.

    \b
    Example:
        odf mirror status --repo my-repository
    """
    found = asyncio.run(_status(repository))
    now = time.time()
    if as_json:
        print_json([plain_mirror(mirror, datasets, now) for mirror, datasets in found])
    else:
        print_table(COLUMNS, [_cells(plain_mirror(mirror, datasets, now)) for mirror, datasets in found])


@app.command()
def remove(mirror_id: MirrorId, repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """Mirror no longer. What was copied stays where it is.

    \b
    Example:
        odf mirror remove 1 --repo my-repository
    """
    asyncio.run(_remove(repository, mirror_id))
    if as_json:
        print_json({"removed": mirror_id})
    else:
        print_line(f"removed mirror {mirror_id}")


def _new_mirror(target: str, push: str | None, pull: list[str] | None, schedule: str | None) -> NewMirror:
    if (push is None) == (not pull):
        raise typer.BadParameter("say either --push PATTERN or --pull NAME")
    if "@" in target.partition("://")[2].partition("/")[0]:
        raise MalformedIdentifier("an address of a mirror holds no password", hint="odf login URL keeps a token for it")
    if schedule not in {None, ON_CHANGE}:
        next_strike(str(schedule), time.time())
    token = token_for(target) or _node_token(target)
    if push is not None:
        push_kind(target)
        pattern = str(DatasetAliasPattern.from_text(push))
        return NewMirror(Direction.PUSH, target, pattern, schedule or ON_CHANGE, token)
    parse_remote(target)
    names = ",".join(str(DatasetAlias.from_text(name)) for name in pull or ())
    return NewMirror(Direction.PULL, target, names, schedule or ON_CHANGE, token)


def _node_token(target: str) -> str | None:
    access = ipfs_access(target)
    return access.token if access is not None and access.is_node else None


async def _add(repository: str, new: NewMirror) -> int:
    async with catalog_of(repository) as catalog:
        return await catalog.mirrors.add(new)


async def _run(repository: str, mirror_id: int) -> str | None:
    settings = settings_for(repository)
    async with catalog_of(repository) as catalog, aiohttp.ClientSession() as session:
        owner = await catalog.accounts.find_or_create(AccountName(settings.default_account))
        opened = await open_repository(repository)
        place = MirrorPlace(opened, catalog, owner.id, time.time, settings.quota_limits)
        tools = MirrorTools(session, catalog.ipfs, settings.ipfs_access)
        return await MirrorRunner(place, tools).run_now(mirror_id)


async def _status(repository: str) -> list[tuple[Mirror, dict[str, MirroredDataset]]]:
    async with catalog_of(repository) as catalog:
        return [(mirror, await catalog.mirrors.datasets(mirror.id)) for mirror in await catalog.mirrors.list()]


async def _remove(repository: str, mirror_id: int) -> None:
    async with catalog_of(repository) as catalog:
        await catalog.mirrors.remove(mirror_id)


def _cells(plain: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        str(plain["id"]),
        plain["direction"],
        plain["target"],
        plain["datasets"],
        plain["schedule"],
        _time(plain["lastSuccessAt"]),
        _time(plain["nextRunAt"]),
        f"{plain['lagS']:.0f} s",
        plain["lastError"] or "well",
    )


def _time(seconds: float | None) -> str:
    return "never" if seconds is None else moment(seconds)
