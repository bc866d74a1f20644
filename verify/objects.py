"""One object of a dataset against what its block says: is it there, has it the size, the bytes, the records?"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from opendatafabric.errors import LimitExceeded, NotFound, OdfError
from opendatafabric.limits import READ_CHUNK_BYTES
from opendatafabric.multihash import Hasher, Multihash
from storage.protocols import ObjectReader
from verify.logical import SliceClaims, check_records
from verify.report import Check, Finding, Severity


@dataclass(frozen=True, slots=True)
class ObjectTask:
    """An object to check. ``size`` in bytes and ``claims`` are ``None`` where the block that names it is damaged."""

    key: str
    physical_hash: Multihash
    sequence_number: int
    block_hash: Multihash
    size: int | None = None
    claims: SliceClaims | None = None


@dataclass(slots=True)
class ObjectOutcome:
    """What came out of one object: how much was read, and what was wrong with it."""

    bytes_read: int = 0
    records: int = 0
    findings: list[Finding] = field(default_factory=list)


async def check_object(reader: ObjectReader, task: ObjectTask) -> ObjectOutcome:
    """Check one object. Raises nothing that the object or its store can bring about."""
    try:
        size = (await reader.stat(task.key)).size
        async with _opened(reader, task.key, size) as (file, found_hash):
            outcome = await asyncio.to_thread(_check_file, file, found_hash, size, task)
    except NotFound:
        outcome = ObjectOutcome(findings=[_finding("object-missing", "the object is not stored")])
    except OdfError as error:
        unread = _finding("object-unreadable", f"the object cannot be read: {error.message}")
        outcome = ObjectOutcome(findings=[replace(unread, severity=Severity.UNCHECKED)])
    except OSError as error:
        unread = _finding("object-unreadable", f"the object cannot be read: {error.strerror}")
        outcome = ObjectOutcome(findings=[replace(unread, severity=Severity.UNCHECKED)])
    outcome.findings = [_placed(finding, task) for finding in outcome.findings]
    return outcome


def _check_file(file: BinaryIO, found_hash: Multihash, size: int, task: ObjectTask) -> ObjectOutcome:
    outcome = ObjectOutcome(bytes_read=size)
    outcome.records, records = (0, []) if task.claims is None else check_records(file, task.claims)
    if task.size is not None and size != task.size:
        message = "the object has another size than its block says"
        outcome.findings.append(_finding("object-size-differs", message, task.size, size))
    if found_hash == task.physical_hash:
        outcome.findings.extend(records)
    else:
        outcome.findings.extend(_damaged(found_hash, task, records))
    return outcome


def _damaged(found_hash: Multihash, task: ObjectTask, records: list[Finding]) -> Iterable[Finding]:
    """Findings of an object with wrong bytes: of its records only what can still be told, and is news."""
    damaged = _finding(
        "object-damaged", "the object has other bytes than its name says", task.physical_hash, found_hash
    )
    if task.claims is not None and not any(finding.severity is not Severity.WARNING for finding in records):
        damaged = replace(damaged, hint="its records are intact: the file was encoded again")
    yield damaged
    yield from (finding for finding in records if finding.code != "records-unreadable")


@asynccontextmanager
async def _opened(reader: ObjectReader, key: str, size: int) -> AsyncIterator[tuple[BinaryIO, Multihash]]:
    """The object as a file, and its physical hash; from stores without files through a temporary one."""
    path = reader.local_path(key)
    if path is not None:
        file, found_hash = await asyncio.to_thread(_open_and_hash, path)
    else:
        file, found_hash = await _spool(reader, key, size)
    try:
        yield file, found_hash
    finally:
        await asyncio.to_thread(file.close)


def _open_and_hash(path: Path) -> tuple[BinaryIO, Multihash]:
    hasher = Hasher()
    file = path.open("rb")
    try:
        while piece := file.read(READ_CHUNK_BYTES):
            hasher.update(piece)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file, hasher.finish()


async def _spool(reader: ObjectReader, key: str, size: int) -> tuple[BinaryIO, Multihash]:
    """Copy an object that lies elsewhere; a store that sends more than it announced is not followed."""
    hasher = Hasher()
    file: BinaryIO = await asyncio.to_thread(tempfile.TemporaryFile)

    def take(piece: bytes) -> None:
        hasher.update(piece)
        file.write(piece)

    try:
        async for piece in reader.stream(key):
            if hasher.size + len(piece) > size:
                raise LimitExceeded(f"{key} is longer than the store said", expected=size)
            await asyncio.to_thread(take, piece)
        await asyncio.to_thread(file.seek, 0)
    except BaseException:
        file.close()
        raise
    return file, hasher.finish()


def _finding(code: str, message: str, expected: object = None, found: object = None) -> Finding:
    texts = [None if value is None else str(value) for value in (expected, found)]
    return Finding(Check.OBJECTS, code, message, expected=texts[0], found=texts[1])


def _placed(finding: Finding, task: ObjectTask) -> Finding:
    return replace(finding, sequence_number=task.sequence_number, block_hash=task.block_hash, object_key=task.key)
