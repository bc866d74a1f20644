"""``odf gc``: delete what no dataset needs."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from cli.catalogs import spared_heads
from cli.datasets import opened_repository
from cli.exit_codes import ExitCode
from cli.options import AsJson, RepositoryOption
from cli.output import format_bytes, print_json, print_line, print_note
from storage.collect import Amount
from storage.collect_repository import CollectedDataset, collect_repository
from storage.share import share_objects

GRACE_H: float = 24
"""Hours that an object nobody needs is kept: an interrupted push finds it again."""


def command(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be deleted.")] = False,
    grace_h: Annotated[
        float, typer.Option("--grace", metavar="HOURS", min=0, help="Keep what is younger; 0 keeps nothing.")
    ] = GRACE_H,
    share: Annotated[
        bool, typer.Option("--share/--no-share", help="Store equal objects of several datasets once, as hard links.")
    ] = True,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Delete blocks and objects that no head leads to, and what interrupted uploads left. Safe while servers run.

    What heads led to that a server has replaced of late stays, so that it can be put back (odf undo).
    Equal objects of several datasets are then stored once.

    Ends with 3 when a dataset is damaged: it is left as it is.

    \b
    Example:
        odf gc --dry-run --repo my-repository
        odf gc --grace 0 --repo s3+https://minio.example.org/bucket/datasets
    """
    done, shared = asyncio.run(_collect_all(repository, grace_s=grace_h * 3600, dry_run=dry_run, share=share))
    if as_json:
        datasets = [each.as_dict() for each in done]
        print_json({"dry_run": dry_run, "datasets": datasets, **_total(done), "shared": shared.as_dict()})
    else:
        _print_for_people(done, dry_run=dry_run)
        if shared.count:
            verb = "would be" if dry_run else "are now"
            print_line(f"{_size(shared)} {verb} names of equal objects of other datasets")
    if any(each.collected.refused is not None for each in done):
        raise typer.Exit(ExitCode.INVALID)


async def _collect_all(
    repository: str, *, grace_s: float, dry_run: bool, share: bool
) -> tuple[list[CollectedDataset], Amount]:
    async with opened_repository(repository) as place, spared_heads(repository, grace_s) as spared:
        done = [each async for each in collect_repository(place, grace_s=grace_s, dry_run=dry_run, spared=spared)]
        return done, await share_objects(place, grace_s=grace_s, dry_run=dry_run) if share else Amount()


def _total(done: list[CollectedDataset]) -> dict[str, object]:
    return {"freed_bytes": sum(each.collected.freed_bytes for each in done)}


def _print_for_people(done: list[CollectedDataset], *, dry_run: bool) -> None:
    verb = "would free" if dry_run else "freed"
    for each in done:
        for kind, amount in each.collected.freed.items():
            if amount.count:
                print_line(f"{each.name}: {verb} {_size(amount)} in {kind}")
        if each.collected.kept.count:
            print_line(f"{each.name}: keeps {_size(each.collected.kept)} that are young or in use")
        if each.collected.refused is not None:
            print_note(f"{each.name}: left alone, run odf fsck: {each.collected.refused.message}")
    print_line(f"{verb} {format_bytes(sum(each.collected.freed_bytes for each in done))} in all")


def _size(amount: Amount) -> str:
    return f"{amount.count} files, {format_bytes(amount.bytes)},"
