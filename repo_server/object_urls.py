"""Addresses of objects for one conversation: this server's own routes, with the token of the handshake.

Built from the configured address alone, never from what the request says of the host. The path keeps the client's
spelling of the names.
"""

from __future__ import annotations

from dataclasses import dataclass

from opendatafabric.chain.objects import ObjectFile
from storage.dataset import object_key
from sync.smart.channels import VERSION, VERSION_HEADER
from sync.smart.messages import HeaderRow, TransferUrl


@dataclass(frozen=True, slots=True)
class OwnUrls:
    """``dataset_url`` ends without a slash; ``token`` is replayed by the client as it was given."""

    dataset_url: str
    token: str | None

    def download_url(self, file: ObjectFile) -> TransferUrl:
        return self._url(file)

    def upload_url(self, file: ObjectFile) -> TransferUrl:
        return self._url(file)

    def _url(self, file: ObjectFile) -> TransferUrl:
        headers = [HeaderRow(name=VERSION_HEADER, value=VERSION)]
        if self.token is not None:
            headers.append(HeaderRow(name="authorization", value=f"Bearer {self.token}"))
        return TransferUrl(url=f"{self.dataset_url}/{object_key(file)}", headers=tuple(headers), expires_at=None)
