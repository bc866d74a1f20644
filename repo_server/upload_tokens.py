"""Upload tokens: what a client was told about the file it sends, to name the file by. As the reference writes them.

A token proves nothing by itself: what counts lies with the upload, and a token that says anything else is none.
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Final

import orjson

from opendatafabric.did import AccountId
from opendatafabric.errors import MalformedInput
from opendatafabric.limits import FILE_NAME_BYTES_MAX
from storage.uploads import Upload

_DID: Final = "did:odf:"
_TOKEN_CHARS_MAX: Final = 4_096


@dataclass(frozen=True, slots=True)
class FileUpload:
    """A file that ``owner`` is to send. ``content_type`` and ``file_name`` say its format."""

    file_name: str
    owner: AccountId
    content_type: str | None = None

    def key(self) -> str:
        """What the upload is called."""
        return orjson.dumps([self.file_name, str(self.owner), self.content_type]).decode()

    @classmethod
    def from_upload(cls, upload: Upload) -> FileUpload:
        """What ``key`` said."""
        file_name, owner, content_type = orjson.loads(upload.key)
        return cls(file_name, AccountId.from_text(owner), content_type)


def checked_name(text: str) -> str:
    """The name of a file or a media type, if it is one line of moderate length.

    Raises:
        MalformedInput: it is not.
    """
    if not text or len(text.encode(errors="replace")) > FILE_NAME_BYTES_MAX or not text.isprintable():
        raise MalformedInput(f"a name is one line of 1 to {FILE_NAME_BYTES_MAX} bytes", found=text[:100])
    return text


def token_of(upload: Upload) -> str:
    """The token of an upload of a file."""
    file = FileUpload.from_upload(upload)
    told = {
        "upload_id": upload.id,
        "file_name": file.file_name,
        "owner_account_id": str(file.owner).removeprefix(_DID),
        "content_length": upload.size,
    }
    if file.content_type is not None:
        told["content_type"] = file.content_type
    return urlsafe_b64encode(orjson.dumps(told)).decode()


def upload_id_in(token: str) -> str:
    """Which upload a token names.

    Raises:
        MalformedInput: it is no token.
    """
    try:
        told = orjson.loads(urlsafe_b64decode(token)) if len(token) <= _TOKEN_CHARS_MAX else None
    except (binascii.Error, ValueError):
        told = None
    upload_id = told.get("upload_id") if isinstance(told, dict) else None
    if not isinstance(upload_id, str):
        raise MalformedInput("this is no upload token", hint="take the one that /platform/file/upload/prepare gave")
    return upload_id
