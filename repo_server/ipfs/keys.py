"""The keys of IPNS names: one secret in a file that only the server may read, and from it a key for every dataset.

Names therefore stay the same as long as that file does, whatever else is lost; whoever has it can publish under them.
The secret is never logged and never leaves this module.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from opendatafabric.did import DatasetId
from opendatafabric.errors import AccessDenied, MalformedInput
from opendatafabric.ipfs.ipns import IpnsName, IpnsRecord, sign_record
from storage.local import durable

_SECRET_BYTES: Final = 32
_OWNER_ONLY: Final = 0o600
_PEER: Final = b"odf-repository ipfs peer"
_DATASET: Final = b"odf-repository ipns "


class IpnsKeys:
    """Keys derived from ``secret`` (32 bytes)."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    @classmethod
    def open(cls, path: Path) -> IpnsKeys:
        """Keys of the secret in ``path``; made when there is no such file.

        Raises:
            AccessDenied: others than the owner may read it.
            MalformedInput: it holds something else.
            StorageError: it cannot be read or made.
        """
        with durable.translated(f"read {path}"):
            if not path.exists():
                _make(path)
            if stat.S_IMODE(path.stat().st_mode) & 0o077:
                raise AccessDenied(f"others may read the key file {path}", hint=f"chmod 600 {path}")
            text = path.read_text(encoding="ascii", errors="replace").strip()
        try:
            secret = bytes.fromhex(text)
        except ValueError:
            secret = b""
        if len(secret) != _SECRET_BYTES:
            raise MalformedInput(f"{path} holds no key", expected=f"{2 * _SECRET_BYTES} hex digits")
        return cls(secret)

    def name_of(self, dataset_id: DatasetId) -> IpnsName:
        """The name of a dataset."""
        return IpnsName.from_signing_key(self._key(_DATASET + dataset_id.key))

    def sign(self, dataset_id: DatasetId, record: IpnsRecord) -> bytes:
        """A record of a dataset's name, signed."""
        return sign_record(record, self._key(_DATASET + dataset_id.key))

    @property
    def peer_id(self) -> str:
        """What this server is called among peers (``12D3…``)."""
        return IpnsName.from_signing_key(self._key(_PEER)).peer_id

    def _key(self, purpose: bytes) -> bytes:
        return HKDF(algorithm=SHA256(), length=_SECRET_BYTES, salt=None, info=purpose).derive(self._secret)


def _make(path: Path) -> None:
    # Written whole under another name first: of several servers that start at once, one wins and all read the same.
    hidden = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(hidden, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _OWNER_ONLY)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_hex(_SECRET_BYTES).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        if not path.exists():
            os.link(hidden, path)
    except FileExistsError:
        pass
    finally:
        hidden.unlink()
