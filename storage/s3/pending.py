"""Where unproved bytes wait in a bucket, and what their tokens say.

A token is a random name; one that was examined after somebody else wrote it also carries the version that was examined,
so that nothing else can be published in its place.
"""

from __future__ import annotations

import re
import secrets
from typing import Final

from opendatafabric.errors import ObjectNotFound
from storage.s3.location import S3Location

PENDING_FOLDER: Final = ".pending"
_TOKEN: Final = re.compile(r'([0-9a-f]{32})(?:@("[\x21\x23-\x7e]{1,200}"))?', re.ASCII)


def pending_token() -> str:
    """A fresh token."""
    return secrets.token_hex(16)


def examined_token(token: str, etag: str) -> str:
    """The token of bytes that were examined in the version ``etag``."""
    return f"{token}@{etag}"


def pending_path(location: S3Location, token: str) -> str:
    """Where the bytes of a token lie."""
    return location.path(f"{PENDING_FOLDER}/{_parsed(token)[0]}")


def examined_etag(token: str) -> str | None:
    """The version that was examined, if others could write it."""
    return _parsed(token)[1]


def _parsed(token: str) -> tuple[str, str | None]:
    found = _TOKEN.fullmatch(token)
    if found is None:
        raise ObjectNotFound(f"nothing is quarantined as {token[:100]!r}", hint="upload the object again")
    return found[1], found[2]
