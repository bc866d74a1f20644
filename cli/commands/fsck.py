"""``odf fsck``: look for damage in a repository or a dataset, and explain it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Final

import typer

from cli.datasets import connected, locate, repository_at
from cli.exit_codes import ExitCode
from cli.healing import CopiesOption
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line, print_note
from cli.repair import repair as run_repair
from storage import folders
from storage.fsck import fsck
from storage.repositories import DatasetRepository
from storage.repository import Repository
from storage.values import FsckFinding

HARMLESS: Final = frozenset({"leftover", "orphan", "damaged-orphan", "foreign-file"})
"""Codes of findings that take nothing away from any dataset."""


def command(
    ref: Annotated[
        str | None, typer.Argument(metavar="REF|DIR", help="A dataset or a repository; the one of --repo if not given.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Compare the sizes of slices and checkpoints, do not hash them.")
    ] = False,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Heal damage from the copies, remove what interrupted writes left a day ago."),
    ] = False,
    copies: CopiesOption = None,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Look for damage: bad heads, missing or changed files, leftovers. Changes nothing without --repair.

    Each finding says what would repair it. Ends with 0 when there is nothing but harmless leftovers, with 3 when
    something is damaged, or still is after the repair.

    \b
    Example:
        odf fsck --repo my-repository
        odf fsck ./dataset-folder
        odf fsck --repair --from "https://mirror.example.org/{alias}/"
    """
    if copies and not repair:
        raise typer.BadParameter("--from needs --repair: without it nothing is changed")
    if repair:
        asyncio.run(run_repair(ref, repository, copies or ()))
    damaged = asyncio.run(_print_findings(ref, repository, quick=quick, as_json=as_json))
    if damaged:
        raise typer.Exit(ExitCode.INVALID)


async def _print_findings(ref: str | None, repository: str, *, quick: bool, as_json: bool) -> bool:
    count = damaged = 0
    async for finding in _findings(ref, repository, quick=quick):
        count += 1
        damaged += finding.code not in HARMLESS
        if as_json:
            print_json(finding.as_dict(), indent=None)
        else:
            _print_for_people(finding)
    if not as_json:
        print_note(f"{count} findings, {damaged} of them damage" if count else "no findings")
    return bool(damaged)


async def _findings(ref: str | None, repository: str, *, quick: bool) -> AsyncIterator[FsckFinding]:
    target = await _repository_named(ref, repository)
    if target is not None:
        async for finding in fsck(target, read_objects=not quick):
            yield finding
        return
    async with connected(await locate(ref or "", repository)) as dataset:
        async for finding in fsck(dataset, read_objects=not quick):
            yield finding


async def _repository_named(ref: str | None, repository: str) -> DatasetRepository | None:
    return await repository_at(repository) if ref is None else _repository_in(Path(ref))


def _repository_in(folder: Path) -> Repository | None:
    return Repository.open(folder) if folder.is_dir() and not folders.is_dataset_folder(folder) else None


def _print_for_people(finding: FsckFinding) -> None:
    where = f"{finding.place}/{finding.key}" if finding.place else finding.key
    print_line(f"{finding.code}: {where}: {finding.message}")
    print_line(f"    {finding.remedy}")
