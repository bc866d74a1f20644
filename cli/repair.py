"""What ``odf fsck --repair`` does: heal what is damaged from sound copies, remove what interrupted writes left."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import aiohttp

from catalog.audit import Audit
from catalog.scrubs import note_damage
from cli.catalogs import catalog_of
from cli.datasets import local_repository, repository_at
from cli.healing import open_copies
from cli.output import print_note
from opendatafabric.dataset_ref import parse_dataset_ref
from opendatafabric.errors import DatasetNotFound, UnsupportedOperation
from storage.folders import RepositoryLayout
from storage.fsck_files import remove_leftovers
from storage.open import scheme_of
from storage.places import DatasetPlace
from storage.protocols import ObjectReader
from storage.repository import Repository
from storage.s3.location import SCHEMES
from storage.scrub import scrub

LEFTOVER_AGE_S_MIN: Final = 24 * 3600
"""Younger leftovers may belong to a push that is running."""


async def repair(ref: str | None, repository: str, copies: Sequence[str]) -> None:
    """Repair a dataset, or all of a repository; what was done is printed, and healing is written to the trail."""
    in_s3 = scheme_of(ref or repository) in SCHEMES
    if in_s3 and not copies:
        raise UnsupportedOperation(
            "--repair without --from is for a folder", hint="in S3 odf gc removes what interrupted uploads left"
        )
    places, audited = await _places(ref, repository)
    if not in_s3 and scheme_of(repository) not in SCHEMES:
        _remove_leftovers(ref, repository, places)
    if copies:
        await _heal_all(places, copies, audited)


async def _places(ref: str | None, repository: str) -> tuple[list[DatasetPlace], str | None]:
    """The datasets meant, and the repository whose trail it is; a dataset folder by itself has none."""
    if ref is None:
        return [place async for place in (await repository_at(repository)).places()], repository
    if Path(ref).is_dir():  # noqa: ASYNC240
        opened = Repository.open(Path(ref))
        return [place async for place in opened.places()], None if opened.layout is RepositoryLayout.SINGLE else ref
    wanted = parse_dataset_ref(ref)
    there = (await repository_at(repository)).places()
    found = [place async for place in there if wanted in {place.alias, place.dataset_id}]
    if not found:
        raise DatasetNotFound(f"dataset {ref} is not in the repository", hint="odf list shows what is")
    return found, repository


def _remove_leftovers(ref: str | None, repository: str, places: Sequence[DatasetPlace]) -> None:
    if ref is None or Path(ref).is_dir():
        roots = [local_repository(ref or repository).root]
    else:
        roots = [Path(place.address) for place in places]
    for root in roots:
        for key in remove_leftovers(root, before=time.time() - LEFTOVER_AGE_S_MIN):
            print_note(f"removed {key}")


async def _heal_all(places: Sequence[DatasetPlace], copies: Sequence[str], audited: str | None) -> None:
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(aiohttp.ClientSession())
        catalog = None if audited is None else await stack.enter_async_context(catalog_of(audited))
        for place in places:
            await _heal(place, open_copies(session, copies, place.alias), None if catalog is None else catalog.audit)


async def _heal(place: DatasetPlace, sources: Sequence[ObjectReader], audit: Audit | None) -> None:
    async for done in scrub(place.dataset, sources=sources):
        if audit is not None:
            await note_damage(audit, place.alias, done)
        if done.healed:
            print_note(f"healed {place.alias}: {done.key}")
