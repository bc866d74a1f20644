"""One object of a dataset against what its block says: is it there, has it the size, the bytes, the records?"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from opendatafabric.errors import LimitExceeded, NotFound, OdfError, StorageError
from opendatafabric.limits import READ_CHUNK_BYTES
from opendatafabric.multihash import Hasher, Multihash
from storage.local import durable
from storage.local.objects import reading
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
    proved_before: bool = False
    """By a run that was broken off; nothing was read now."""
    findings: list[Finding] = field(default_factory=list)


async def check_object(reader: ObjectReader, task: ObjectTask) -> ObjectOutcome:
    """Check one object. Raises nothing that the object or its store can bring about."""
    path = reader.local_path(task.key)
    if path is not None:
        return await asyncio.to_thread(check_file, path, task)
    try:
        size = (await reader.stat(task.key)).size
        async with _spooled(reader, task.key, size) as (file, found_hash):
            return _placed(await asyncio.to_thread(_check, file, found_hash, size, task), task)
    except OdfError as error:
        return _unread(error, task)


def check_file(path: Path, task: ObjectTask) -> ObjectOutcome:
    """As ``check_object``, of the object that is the file ``path``."""
    try:
        with _opened(path, task.key) as file:
            size = os.fstat(file.fileno()).st_size
            return _placed(_check(file, _hash_of(file), size, task), task)
    except OdfError as error:
        return _unread(error, task)
    except OSError as error:
        return _unread(StorageError(str(error.strerror)), task)


def died(task: ObjectTask) -> ObjectOutcome:
    """What is said of an object whose reader did not come to an end."""
    return _unread(StorageError("the process that read it died", hint="it may need more memory than there is"), task)


def _unread(error: OdfError, task: ObjectTask) -> ObjectOutcome:
    if isinstance(error, NotFound):
        return _placed(ObjectOutcome(findings=[_finding("object-missing", "the object is not stored")]), task)
    finding = _finding("object-unreadable", f"the object cannot be read: {error.message}")
    finding = replace(finding, severity=Severity.UNCHECKED, hint=error.hint)
    return _placed(ObjectOutcome(findings=[finding]), task)


def _check(file: BinaryIO, found_hash: Multihash, size: int, task: ObjectTask) -> ObjectOutcome:
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


def _opened(path: Path, key: str) -> BinaryIO:
    """The file for reading; links and what is no file are refused as the store refuses them."""
    with reading(key), durable.opened_folder(path.parent.parent, path.parent.name) as folder:
        return os.fdopen(durable.open_plain(folder, path.name), "rb")


def _hash_of(file: BinaryIO) -> Multihash:
    hasher = Hasher()
    while piece := file.read(READ_CHUNK_BYTES):
        hasher.update(piece)
    return hasher.finish()


@asynccontextmanager
async def _spooled(reader: ObjectReader, key: str, size: int) -> AsyncIterator[tuple[BinaryIO, Multihash]]:
    """A copy of an object that lies elsewhere; a store that sends more than it announced is not followed."""
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
        yield file, hasher.finish()
    finally:
        await asyncio.to_thread(file.close)


def _finding(code: str, message: str, expected: object = None, found: object = None) -> Finding:
    texts = [None if value is None else str(value) for value in (expected, found)]
    return Finding(Check.OBJECTS, code, message, expected=texts[0], found=texts[1])


def _placed(outcome: ObjectOutcome, task: ObjectTask) -> ObjectOutcome:
    """With findings that say where."""
    number, block = task.sequence_number, task.block_hash
    outcome.findings = [
        replace(finding, sequence_number=number, block_hash=block, object_key=task.key) for finding in outcome.findings
    ]
    return outcome
