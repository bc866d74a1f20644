"""Members of zip archives in memory, bounded: an archive of a few bytes must not become all of it."""

from __future__ import annotations

from zipfile import BadZipFile, ZipFile

from opendatafabric.errors import LimitExceeded, MalformedSource
from opendatafabric.source_limits import JSON_DOCUMENT_BYTES_MAX


def read_member(archive: ZipFile, name: str) -> bytes:
    """All bytes of a member.

    Raises:
        MalformedSource: damaged, encrypted or packed in a way that is not read.
        LimitExceeded: more than is read whole.
    """
    try:
        with archive.open(name) as member:
            raw = member.read(JSON_DOCUMENT_BYTES_MAX + 1)
    except (BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise MalformedSource(f"{name} in the archive cannot be read: {error}") from None
    if len(raw) > JSON_DOCUMENT_BYTES_MAX:
        raise LimitExceeded(f"{name} in the archive is too large", expected=f"at most {JSON_DOCUMENT_BYTES_MAX} bytes")
    return raw
