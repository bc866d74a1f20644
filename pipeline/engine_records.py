"""Which engine made which steps of a derivative: ``info/engines``, known to the place where they were made alone.

The spec wants the digest of the engine's image in the block; the format of blocks has no room for it, so it is kept
beside the chain (spec: Engine Versioning). Steps one after another by the same engine are one run. A step that was
broken off between its commit and the note of it is not recorded, and of two steps made by two processes at the same
moment one may not be: then nobody knows, and nothing false is said.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from typing import Any

from opendatafabric.engine_limits import ENGINE_RECORDS_BYTES_MAX, ENGINE_RUNS_MAX
from opendatafabric.errors import LimitExceeded, MalformedData, MalformedIdentifier, NotFound, OdfError
from opendatafabric.layout import INFO_ENGINES
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset
from storage.held_chain import is_on_chain
from storage.values import WriteMode


@dataclass(frozen=True, slots=True)
class MadeBy:
    """What computed a step: the ``engine`` by its name in transforms, and ``versions`` of what its result depends on.

    Of an engine elsewhere its image is known by the digest, or else its address alone.
    """

    engine: str
    versions: Mapping[str, str]
    image: str | None = None
    address: str | None = None

    @classmethod
    def from_versions(
        cls, engine: str, versions: Mapping[str, str], *, image: str | None = None, address: str | None = None
    ) -> MadeBy:
        """Of an engine that told its ``versions``, used by this software."""
        return cls(engine, {**versions, "odf": own_version()}, image, None if image else address)

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {"engine": self.engine, "versions": dict(self.versions), "image": self.image, "address": self.address}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> MadeBy:
        """What ``as_dict`` gave."""
        versions = {str(name): str(text) for name, text in told["versions"].items()}
        return cls(str(told["engine"]), versions, _text(told["image"]), _text(told["address"]))

    def __str__(self) -> str:
        versions = [f"{name} {text}" for name, text in self.versions.items()]
        places = [self.image] if self.image else [f"at {self.address}"] if self.address else []
        return f"{self.engine} ({', '.join([*versions, *places])})"


@dataclass(frozen=True, slots=True)
class MadeRun:
    """Steps without a gap, by their numbers on the chain; ``last_block`` is the hash of the last."""

    first: int
    last: int
    last_block: Multihash
    made_by: MadeBy


@cache
def own_version() -> str:
    """Of this software."""
    return version("odf-repository")


def extended(runs: Sequence[MadeRun], *, before: Multihash, step: HashedBlock, made_by: MadeBy) -> tuple[MadeRun, ...]:
    """With one more step, that follows the block ``before``."""
    last = runs[-1] if runs else None
    number = step.sequence_number
    if last is not None and last.last_block == before and last.made_by == made_by:
        return (*runs[:-1], replace(last, last=number, last_block=step.hash))
    return (*runs, MadeRun(number, number, step.hash, made_by))[-ENGINE_RUNS_MAX:]


def write_runs(runs: Sequence[MadeRun]) -> bytes:
    """The file."""
    told = [
        {"first": run.first, "last": run.last, "lastBlock": str(run.last_block), "madeBy": run.made_by.as_dict()}
        for run in runs
    ]
    return json.dumps({"version": 1, "runs": told}, separators=(",", ":")).encode()


def read_runs(data: bytes) -> tuple[MadeRun, ...]:
    """What ``write_runs`` was given.

    Raises:
        MalformedData: no such file.
    """
    try:
        told = json.loads(data)
        if told["version"] != 1:
            raise ValueError(f"version {told['version']}")
        return tuple(_run(each) for each in told["runs"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, MalformedIdentifier) as error:
        raise MalformedData(
            f"{INFO_ENGINES} cannot be read: {error}", hint="it may be deleted: what it says is lost then"
        ) from None


async def note_maker(dataset: Dataset, *, before: Multihash, step: HashedBlock, made_by: MadeBy) -> None:
    """Note who made the step that was appended after ``before``. The step counts whether or not that succeeds."""
    with suppress(OdfError):
        runs = extended(await _recorded_or_nothing(dataset), before=before, step=step, made_by=made_by)
        await dataset.writable_objects().put(INFO_ENGINES, write_runs(runs), WriteMode.REPLACE)


async def maker_of(dataset: Dataset, step: HashedBlock) -> MadeBy | None:
    """Who made a step of the chain; ``None`` if that is not known here.

    Raises:
        MalformedData, LimitExceeded: what was noted cannot be read.
        StorageError: the dataset cannot be read.
    """
    number, head = step.sequence_number, await dataset.head()
    for run in reversed(await _recorded(dataset)):
        if run.first <= number <= run.last and await is_on_chain(dataset.objects, run.last_block, head):
            return run.made_by
    return None


async def _recorded(dataset: Dataset) -> tuple[MadeRun, ...]:
    try:
        return read_runs(await dataset.objects.read(INFO_ENGINES, size_max=ENGINE_RECORDS_BYTES_MAX))
    except NotFound:
        return ()


async def _recorded_or_nothing(dataset: Dataset) -> tuple[MadeRun, ...]:
    """A file that cannot be read is begun anew."""
    try:
        return await _recorded(dataset)
    except (MalformedData, LimitExceeded):
        return ()


def _run(told: Mapping[str, Any]) -> MadeRun:
    block = Multihash.from_text(told["lastBlock"])
    return MadeRun(int(told["first"]), int(told["last"]), block, MadeBy.from_dict(told["madeBy"]))


def _text(value: object) -> str | None:
    return None if value is None else str(value)
