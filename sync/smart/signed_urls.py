"""Addresses that a store signs itself: objects travel between client and store, and the server never touches them.

Whoever may upload so could upload anything. So what arrives waits in quarantine, and before a head may move the server
reads it back and hashes it; only these bytes are then published.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import cast

from opendatafabric.chain.objects import ObjectFile
from opendatafabric.limits import S3_COPY_BYTES_MAX
from storage.dataset import Dataset, object_key
from storage.protocols import PresigningStore
from storage.quarantine import publish_if_proved
from storage.values import PresignedUpload
from sync.objects import in_parallel
from sync.smart.messages import TransferUrl


class SignedUrls:
    """The signed addresses of one conversation, good for ``lifetime_s`` seconds each; ``now`` in seconds since 1970."""

    def __init__(self, *, lifetime_s: int, now: Callable[[], float]) -> None:
        self._lifetime_s = lifetime_s
        self._now = now
        self._uploads: dict[ObjectFile, PresignedUpload] = {}

    async def downloads(self, dataset: Dataset, files: Sequence[ObjectFile]) -> dict[ObjectFile, TransferUrl]:
        """Where to fetch these objects; nothing where the store does not sign."""
        if not dataset.objects.capabilities.presigned:
            return {}
        store = cast(PresigningStore, dataset.objects)
        signed = await store.sign_downloads([object_key(file) for file in files], lifetime_s=self._lifetime_s)
        return {file: self._address(url) for file, url in zip(files, signed, strict=True)}

    async def uploads(self, dataset: Dataset, files: Sequence[ObjectFile]) -> dict[ObjectFile, TransferUrl]:
        """Where to put these objects; none for those that are too large for one request."""
        if not dataset.objects.capabilities.presigned:
            return {}
        store = cast(PresigningStore, dataset.objects)
        fitting = [file for file in files if file.size <= S3_COPY_BYTES_MAX]
        signed = await store.sign_uploads([file.size for file in fitting], lifetime_s=self._lifetime_s)
        uploads = dict(zip(fitting, signed, strict=True))
        self._uploads |= uploads
        return {file: self._address(upload.url) for file, upload in uploads.items()}

    async def publish(self, dataset: Dataset) -> None:
        """Prove and publish what was uploaded to addresses of this conversation.

        Raises:
            ObjectNotFound, SizeMismatch, HashMismatch: an object never came, or is not what was promised.
        """
        missing = set(await dataset.missing_objects(self._uploads)) if self._uploads else set()

        async def prove(file: ObjectFile) -> None:
            store = cast(PresigningStore, dataset.objects)
            arrived = await store.examine(self._uploads[file])
            await publish_if_proved(
                store, arrived, object_key(file), expected_hash=file.physical_hash, expected_size=file.size
            )

        await in_parallel(missing, prove)

    def _address(self, url: str) -> TransferUrl:
        end = datetime.fromtimestamp(self._now() + self._lifetime_s, UTC)
        return TransferUrl(url=url, expires_at=end.isoformat(timespec="seconds").replace("+00:00", "Z"))
