"""Where unproved bytes wait in a bucket, and what their tokens say.

A token is a random name. That of bytes which were examined after somebody else had uploaded them says both names: of
the copy that was examined, which no signed address leads to, and of the upload it was made from.
"""

from __future__ import annotations

import re
import secrets
from typing import Final

from opendatafabric.errors import ObjectNotFound
from storage.s3.location import S3Location

PENDING_FOLDER: Final = ".pending"
_TOKEN: Final = re.compile(r"([0-9a-f]{32})(?:@([0-9a-f]{32}))?", re.ASCII)


def pending_token() -> str:
    """A fresh token."""
    return secrets.token_hex(16)


def examined_token(copy: str, upload: str) -> str:
    """The token of the bytes ``copy`` that were made from ``upload``."""
    return f"{copy}@{upload}"


def pending_path(location: S3Location, token: str) -> str:
    """Where the bytes of a token lie."""
    return pending_paths(location, token)[0]


def pending_paths(location: S3Location, token: str) -> list[str]:
    """The same, and what else goes when they are published or forgotten.

    Raises:
        ObjectNotFound: it is no token.
    """
    found = _TOKEN.fullmatch(token)
    if found is None:
        raise ObjectNotFound(f"nothing is quarantined as {token[:100]!r}", hint="upload the object again")
    return [location.path(f"{PENDING_FOLDER}/{name}") for name in found.groups() if name is not None]
