"""Datasets verified one after another, inputs first: what is made of a bad one is known not to be sound."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from cli.datasets import Located, absolute_path, connected, datasets_in, is_address, locate_all, opened_repository
from cli.progress import progress_bars
from cli.report_rooms import is_in, report_room
from opendatafabric.did import DatasetId
from opendatafabric.errors import DatasetNotFound, NotARepository, OdfError, UnsupportedOperation
from opendatafabric.multihash import Multihash
from pipeline.pull_order import inputs_first
from pipeline.transform.input_chains import inputs_in
from repo_server.config import Settings
from repo_server.ingesting import ForeignEngine, other_sparks
from storage.dataset import Dataset
from storage.repositories import DatasetRepository
from storage.repository import DatasetEntry, Repository
from verify.integrity import Extent
from verify.proved_notes import ProvedNotes, notes_folder
from verify.recording import Recorded, Recorder
from verify.replay import Replay
from verify.report import Verdict
from verify.report_room import ReportRoom


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """``recursive`` takes in the inputs, ``timeout_s`` is for each step of a derivative.

    ``since`` leaves out what earlier blocks added, ``fresh`` is for objects that a run which was broken off had proved.
    Reports are kept with ``keep``; where that is not said, in repositories that ``odf init`` made. With ``attest`` they
    are kept and signed.
    """

    integrity_only: bool
    recursive: bool
    timeout_s: float
    keep: bool | None = None
    since: Multihash | None = None
    fresh: bool = False
    attest: bool = False


async def verify_all(
    refs: Sequence[str], repository: str, options: VerifyOptions
) -> AsyncIterator[tuple[str, Recorded]]:
    """What is called so, or all of the repository: names with what was found, as it comes.

    Raises:
        MalformedIdentifier, DatasetNotFound, NotARepository: as they say.
    """
    async with AsyncExitStack() as stack:
        places = sorted(await _places(refs, repository), key=lambda place: place.name)
        room = await stack.enter_async_context(report_room(repository, keep=options.keep, attest=options.attest))
        if options.integrity_only:
            for place in places:
                yield place.name, await _verified(place, None, _room_for(place, repository, room), options)
            return
        home = await _home(refs, repository, stack)
        verdicts: dict[DatasetId, Verdict] = {}
        find = _nowhere if home is None else inputs_in(home)
        settings = Settings()
        replay = Replay(
            find,
            ForeignEngine(settings),
            options.timeout_s,
            verdicts,
            settings.engines_elsewhere,
            {"spark": other_sparks(settings)},
        )
        for place in places if home is None else await _ordered(places, home, recursive=options.recursive):
            recorded = await _verified(place, replay, _room_for(place, repository, room), options)
            if recorded.report.dataset_id is not None:
                verdicts[DatasetId.from_text(recorded.report.dataset_id)] = recorded.report.verdict
            yield place.name, recorded


async def _places(refs: Sequence[str], repository: str) -> list[Located]:
    if refs:
        return [place for ref in refs for place in await locate_all(ref, repository)]
    async with opened_repository(repository) as root:
        return await datasets_in(root)


async def _verified(place: Located, replay: Replay | None, room: ReportRoom | None, options: VerifyOptions) -> Recorded:
    notes = ProvedNotes(notes_folder(), place.location, fresh=options.fresh) if place.is_local else None
    extent = Extent(options.since, notes)
    with progress_bars() as advance:
        async with connected(place) as dataset:
            return await Recorder(replay, room).verified(dataset, place.name, progress=advance, extent=extent)


def _room_for(place: Located, repository: str, room: ReportRoom | None) -> ReportRoom | None:
    """Reports of others' datasets are not ours to keep."""
    return room if is_in(repository, place.location) else None


async def _home(refs: Iterable[str], repository: str, stack: AsyncExitStack) -> DatasetRepository | None:
    """Where inputs are: the repository that was given as a folder, the one of ``--repo``, or what a folder lies in."""
    given = [Path(absolute_path(ref)) for ref in refs if not is_address(ref)]
    for folder in filter(Repository.is_at, given):
        return Repository.open(folder)
    with suppress(NotARepository, UnsupportedOperation):
        return await stack.enter_async_context(opened_repository(repository))
    for folder in filter(Repository.is_at, (each.parent for each in given)):
        return Repository.open(folder)
    return None


async def _nowhere(dataset_id: DatasetId) -> Dataset:
    raise DatasetNotFound(f"input {dataset_id} is not here", hint="--repo says which repository has the inputs")


async def _ordered(places: Iterable[Located], home: DatasetRepository, *, recursive: bool) -> list[Located]:
    """Inputs before what is derived from them; with ``recursive`` those too that were not asked for.

    What the repository does not know, damaged ones for example, comes before all others.
    """
    known: dict[DatasetId, Located] = {}
    unknown: list[Located] = []
    entries: list[DatasetEntry] = []
    for place in places:
        entry = await _entry_of(place, home)
        if entry is None:
            unknown.append(place)
        else:
            known[entry.id] = place
            entries.append(entry)
    ordered = await inputs_first(home, entries)
    wanted = [entry for entry in ordered if recursive or entry.id in known]
    return unknown + [known.get(each.id) or Located(str(each.alias), home.address_of(each)) for each in wanted]


async def _entry_of(place: Located, home: DatasetRepository) -> DatasetEntry | None:
    """What the repository knows of the dataset at that place."""
    try:
        async with connected(place) as dataset:
            return await home.find((await dataset.seed()).dataset_id)
    except OdfError:
        return None
