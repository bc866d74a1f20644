"""Entries of the audit log in files: one JSON object a line, in order, to be kept elsewhere and checked there.

An archive is such a file from which the catalog has been relieved. It is whole and on the disk before an entry goes.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO

from catalog.audit import Audit
from catalog.audit_chain import AuditEntry, ChainCheck, ChainPlace, entry_from_json
from opendatafabric.errors import HashMismatch, MalformedInput, NotFound, StorageError
from opendatafabric.multihash import Hasher
from opendatafabric.server_limits import AUDIT_LINE_BYTES_MAX


def line_of(entry: AuditEntry) -> str:
    """An entry as one line of ASCII."""
    return json.dumps(entry.as_dict(), separators=(",", ":"))


def check_file(path: Path, check: ChainCheck) -> None:
    """Go on with ``check`` over the entries in a file.

    Raises:
        NotFound, StorageError: it cannot be read.
    """
    try:
        with path.open("rb") as lines:
            check.walk(map(entry_from_json, _bounded(lines)))
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}") from None
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}") from error
    except MalformedInput:
        if check.broken_at is None:
            check.broken_at = (0 if check.at is None else check.at.id) + 1


async def archive(audit: Audit, path: Path, *, before: float) -> int:
    """Move the entries older than ``before`` (seconds since 1970) into the new file ``path``; how many they were.

    Raises:
        HashMismatch: the log is not as it was written; nothing is moved.
        StorageError: the file is there already or cannot be written.
        Conflict: somebody else archived meanwhile.
    """
    start = await audit.archived()
    check, hasher = ChainCheck(start), Hasher()
    with _new_file(path) as file:
        async for page in audit.pages(before=before):
            check.walk(page)
            if check.broken_at is not None:
                raise HashMismatch(f"the audit log is not as it was written, from entry {check.broken_at} on")
            await asyncio.to_thread(_write, file, hasher, page)
        await asyncio.to_thread(os.fsync, file.fileno())
    if not check.count:
        await asyncio.to_thread(path.unlink)
        return 0
    assert check.at is not None
    await _relieve(audit, path, start, check.at, str(hasher.finish()))
    return check.count


async def _relieve(audit: Audit, path: Path, start: ChainPlace, last: ChainPlace, file_hash: str) -> None:
    again = ChainCheck(start)
    await asyncio.to_thread(check_file, path, again)
    if again.broken_at is not None or again.at != last:
        raise StorageError(f"{path} does not read back as it was written; nothing was removed from the log")
    await audit.drop_archived(first=start.id + 1, last=last, file_hash=file_hash)


def _new_file(path: Path) -> BinaryIO:
    try:
        return path.open("xb")
    except OSError as error:
        raise StorageError(f"{path} cannot be made: {error.strerror}", hint="name a file that is not there") from error


def _write(file: BinaryIO, hasher: Hasher, page: Sequence[AuditEntry]) -> None:
    data = "".join(f"{line_of(entry)}\n" for entry in page).encode()
    hasher.update(data)
    file.write(data)
    file.flush()


def _bounded(lines: BinaryIO) -> Iterable[bytes]:
    while line := lines.readline(AUDIT_LINE_BYTES_MAX):
        if not line.endswith(b"\n"):
            raise MalformedInput("the last line is cut off, or longer than any entry")
        yield line
