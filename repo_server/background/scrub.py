"""Scrubbing by the server: everything is read again from time to time, slowly, and healed from copies elsewhere.

Copies are the addresses that the settings name, and the mirrors of the catalog; no copy is trusted, since the hash
proves the bytes. Of several servers one scrubs. How far it came is kept in the catalog; a restart goes on there.
``odf scrub`` does the same by hand.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import aiohttp

from catalog.catalog import Catalog
from catalog.mirrors import Direction, Mirror
from catalog.scrubs import ScrubState, note_damage
from opendatafabric.dataset_patterns import DatasetAliasPattern
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import MalformedIdentifier, OdfError, UnsupportedOperation
from repo_server.logs import SERVER
from storage.open import Connection, open_objects
from storage.protocols import ObjectReader
from storage.repositories import DatasetRepository
from storage.repository import DatasetEntry
from storage.scrub import Pace, Scrubbed, scrub
from storage.under_lease import under_lease
from sync.mirror import dataset_address
from sync.remote import parse_remote
from sync.smart.connect import token_headers

ALIAS: Final = "{alias}"
LEASE_S: Final = 120.0
"""A server that died is replaced after so long."""

KEEP_EVERY_S: Final = 5.0
"""How often the place is written down: so much is read again at most."""

_LOOK_EVERY_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class ScrubPlan:
    """``sources`` are addresses of sound copies; ``{alias}`` in them stands for the name of the dataset."""

    interval_s: float
    bytes_per_s: float | None
    sources: Sequence[str] = ()


class ScrubRunner:
    """Scrubs one repository; ``noted`` is told of every block and object that was read."""

    def __init__(
        self, repository: DatasetRepository, catalog: Catalog, plan: ScrubPlan, noted: Callable[[Scrubbed], None]
    ) -> None:
        self._repository, self._catalog, self._plan, self._noted = repository, catalog, plan, noted
        self._owner = secrets.token_hex(8)
        self._place = ScrubState()

    async def run_for_ever(self) -> None:
        """A failure is logged; the next try goes on where it stopped."""
        async with aiohttp.ClientSession() as session:
            while True:
                try:
                    await self.run_due(session)
                except OdfError as error:
                    SERVER.warning("scrubbing stopped: %s", error)
                await asyncio.sleep(min(_LOOK_EVERY_S, self._plan.interval_s))

    async def run_due(self, session: aiohttp.ClientSession) -> bool:
        """Scrub from where the last one stopped to the end, if it is time; whether it came to the end."""
        scrubs = self._catalog.scrubs
        begun = await scrubs.claim_due(self._owner, lease_s=LEASE_S, first_in_s=self._plan.interval_s)
        if begun is None:
            return False
        self._place = begun
        try:
            async with under_lease(self._scrub_all(session), self._keep_place()) as done:
                if done is None:
                    return False  # somebody else scrubs by now
                done.result()
                await scrubs.finish(self._owner, next_in_s=self._plan.interval_s)
                return True
        except BaseException:
            await asyncio.shield(scrubs.release(self._owner, dataset=self._place.dataset, after=self._place.after))
            raise

    async def _keep_place(self) -> None:
        """Until somebody else scrubs."""
        kept = True
        while kept:
            await asyncio.sleep(KEEP_EVERY_S)
            place = self._place
            kept = await self._catalog.scrubs.keep(
                self._owner, dataset=place.dataset, after=place.after, lease_s=LEASE_S
            )

    async def _scrub_all(self, session: aiohttp.ClientSession) -> None:
        pace, begun = Pace(self._plan.bytes_per_s), self._place
        begun_at = DatasetAlias.from_text(begun.dataset) if begun.dataset else None
        mirrors = await self._catalog.mirrors.list()
        async for entry in self._repository.iterate():
            if begun_at is not None and entry.alias < begun_at:
                continue
            after = begun.after if entry.alias == begun_at else ""
            try:
                await self._scrub_one(entry, self._sources(session, entry.alias, mirrors), pace, after)
            except OdfError as error:
                SERVER.warning("dataset %s cannot be scrubbed to its end: %s", entry.alias, error)

    async def _scrub_one(self, entry: DatasetEntry, sources: Sequence[ObjectReader], pace: Pace, after: str) -> None:
        self._place = ScrubState(str(entry.alias), after)
        async for done in scrub(entry.dataset, sources=sources, pace=pace, after=after):
            self._noted(done)
            await note_damage(self._catalog.audit, entry.alias, done)
            if done.is_object:
                self._place = ScrubState(str(entry.alias), done.key)

    def _sources(
        self, session: aiohttp.ClientSession, alias: DatasetAlias, mirrors: Sequence[Mirror]
    ) -> list[ObjectReader]:
        named: list[tuple[str, str | None]] = [(each.replace(ALIAS, str(alias)), None) for each in self._plan.sources]
        named += [(dataset_address(each.target, alias.name), each.token) for each in mirrors if _has(each, alias)]
        readers = []
        for address, token in named:
            with suppress(UnsupportedOperation, MalformedIdentifier):  # mirrors that nothing can be read from by key
                readers.append(open_objects(parse_remote(address).url, Connection(session, token_headers(token))))
        return readers


def _has(mirror: Mirror, alias: DatasetAlias) -> bool:
    if mirror.direction is Direction.PULL:
        return str(alias) in mirror.pattern.split(",")
    return DatasetAliasPattern.from_text(mirror.pattern).matches(alias)
