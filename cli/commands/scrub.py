"""``odf scrub``: read everything again, and heal what is damaged from other copies."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import aiohttp
import typer

from catalog.audit import Audit
from catalog.scrubs import note_damage
from cli.catalogs import catalog_of
from cli.datasets import repository_at
from cli.exit_codes import ExitCode
from cli.healing import CopiesOption, open_copies
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line, print_note
from opendatafabric.dataset_ref import parse_dataset_ref
from storage.repository import DatasetEntry
from storage.scrub import Pace, Scrubbed, scrub

MEBIBYTE = 1024 * 1024


def command(
    ref: Annotated[str | None, typer.Argument(metavar="REF", help="A dataset; all of --repo if not given.")] = None,
    sources: CopiesOption = None,
    rate_mib: Annotated[
        float | None, typer.Option("--rate", metavar="MIB", min=0.001, help="Read at most so many MiB a second.")
    ] = None,
    after: Annotated[
        str, typer.Option("--after", metavar="KEY", help="Go on behind this object of the one dataset.")
    ] = "",
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Read and hash every block and object again; replace what is damaged or missing by sound bytes from elsewhere.

    What is found and healed is written to the audit trail. Ends with 3 when something stays damaged.

    \b
    Example:
        odf scrub --repo my-repository --rate 20
        odf scrub --from "https://mirror.example.org/{alias}/"
    """
    unhealed = asyncio.run(
        _Scrub(sources or [], None if rate_mib is None else rate_mib * MEBIBYTE, as_json=as_json).run(
            repository, ref, after
        )
    )
    if unhealed:
        raise typer.Exit(ExitCode.INVALID)


class _Scrub:
    def __init__(self, sources: Sequence[str], bytes_per_s: float | None, *, as_json: bool) -> None:
        self._addresses, self._as_json = sources, as_json
        self._pace = Pace(bytes_per_s)
        self._counts: Counter[str] = Counter()

    async def run(self, repository: str, ref: str | None, after: str) -> int:
        """Scrub; how many were not healed."""
        root = await repository_at(repository)
        entries = [await root.find(parse_dataset_ref(ref))] if ref else [entry async for entry in root.iterate()]
        async with catalog_of(repository) as catalog, aiohttp.ClientSession() as session:
            for entry in entries:
                async for done in scrub(
                    entry.dataset,
                    sources=open_copies(session, self._addresses, entry.alias),
                    pace=self._pace,
                    after=after,
                ):
                    await self._note(entry, done, catalog.audit)
        if not self._as_json:
            checked, damaged, healed = (self._counts[name] for name in ("checked", "damaged", "healed"))
            print_line(f"{checked} files read, {damaged} damaged, {healed} of them healed")
        return self._counts["damaged"] - self._counts["healed"]

    async def _note(self, entry: DatasetEntry, done: Scrubbed, audit: Audit) -> None:
        self._counts["checked"] += 1
        if done.damage is None:
            return
        self._counts["damaged"] += 1
        self._counts["healed"] += done.healed
        await note_damage(audit, entry.alias, done)
        if self._as_json:
            print_json({"name": str(entry.alias), **done.as_dict()}, indent=None)
        else:
            print_line(f"{entry.alias}: {done.damage.message}: {'healed' if done.healed else 'NOT healed'}")
            if not done.healed:
                print_note("  hint: name a sound copy with --from, or push the dataset again from where it is sound")
