"""Signed addresses: whoever holds one reads or writes one object for a while, without a server in between.

What is written so lands where unproved bytes wait, in the announced size where the store checks that; ``examine``
reads it back and hashes it before anybody may publish it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import obstore

from opendatafabric.errors import ObjectNotFound, SizeMismatch
from opendatafabric.limits import READ_CHUNK_BYTES
from opendatafabric.multihash import Hasher
from storage.s3.errors import translated
from storage.s3.objects import S3ObjectStore
from storage.s3.pending import examined_token, pending_path, pending_token
from storage.values import PresignedUpload, Quarantined


class S3PresigningStore(S3ObjectStore):
    """An S3ObjectStore that signs addresses."""

    async def sign_downloads(self, keys: Sequence[str], *, lifetime_s: int) -> list[str]:
        client, paths = await self.bucket.client(), [self._path(key) for key in keys]

        def sign() -> list[str]:
            return [self._sign(client, "get_object", lifetime_s, Key=path) for path in paths]

        with translated("sign addresses"):
            return await asyncio.to_thread(sign)

    async def sign_uploads(self, sizes: Sequence[int], *, lifetime_s: int) -> list[PresignedUpload]:
        client = await self.bucket.client()

        def sign(size: int) -> PresignedUpload:
            token = pending_token()
            path = pending_path(self.location, token)
            url = self._sign(client, "put_object", lifetime_s, Key=path, ContentLength=size)
            return PresignedUpload(token, url, size)

        with translated("sign addresses"):
            return await asyncio.to_thread(lambda: [sign(size) for size in sizes])

    async def examine(self, upload: PresignedUpload) -> Quarantined:
        path, store = pending_path(self.location, upload.token), await self.bucket.store()
        with translated("look at an upload"):
            try:
                meta = await obstore.head_async(store, path)
            except FileNotFoundError:
                raise ObjectNotFound(
                    "an object was announced and never uploaded", hint="upload it to the address given, then push again"
                ) from None
        if meta["size"] != upload.size:
            await self._delete(path)
            raise SizeMismatch("an object was uploaded in another size", expected=upload.size, found=meta["size"])
        hasher, etag = Hasher(), meta["e_tag"] or ""
        async for window in self._windows(path, 0, upload.size, etag):
            for start in range(0, len(window), READ_CHUNK_BYTES):
                await asyncio.to_thread(hasher.update, window[start : start + READ_CHUNK_BYTES])
        return Quarantined(examined_token(upload.token, etag), hasher.finish(), hasher.size)

    def _sign(self, client: Any, method: str, lifetime_s: int, **parameters: object) -> str:
        url: str = client.generate_presigned_url(
            method, Params={"Bucket": self.bucket.name, **parameters}, ExpiresIn=lifetime_s
        )
        return url
