"""The keys of IPNS names: one secret in a file that only the server may read, and from it a key for every dataset.

Names therefore stay the same as long as that file does, whatever else is lost; whoever has it can publish under them.
The secret is never logged and never leaves this module.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from opendatafabric.did import DatasetId
from opendatafabric.ipfs.ipns import IpnsName, IpnsRecord, sign_record
from storage.local.secret_file import SECRET_BYTES, read_or_make_secret

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
        return cls(read_or_make_secret(path))

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
        return HKDF(algorithm=SHA256(), length=SECRET_BYTES, salt=None, info=purpose).derive(self._secret)
