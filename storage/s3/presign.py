"""Signed addresses: whoever holds one reads or writes one object for a while, without a server in between.

What is written so lands where unproved bytes wait, in the announced size where the store checks that. Whoever holds the
address may write again at any moment, so ``examine`` copies it inside the store first, to a name that only we know, and
reads back, hashes and gives on that copy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import obstore

from opendatafabric.errors import ObjectNotFound, SizeMismatch
from opendatafabric.limits import READ_CHUNK_BYTES
from opendatafabric.multihash import Hasher
from storage.s3.copying import copy_object
from storage.s3.errors import translated
from storage.s3.objects import S3ObjectStore
from storage.s3.pending import examined_token, pending_path, pending_token
from storage.s3.retries import retried
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
        try:
            with translated("look at an upload"):
                size = (await obstore.head_async(store, path))["size"]
        except ObjectNotFound:
            raise ObjectNotFound(
                "an object was announced and never uploaded", hint="upload it to the address given, then push again"
            ) from None
        if size != upload.size:
            await self._delete(path)
            raise SizeMismatch("an object was uploaded in another size", expected=upload.size, found=size)
        token = examined_token(pending_token(), upload.token)
        await retried(lambda: copy_object(self.bucket, path, pending_path(self.location, token), size))
        hasher = await self._hash(pending_path(self.location, token))
        return Quarantined(token, hasher.finish(), hasher.size)

    async def _hash(self, path: str) -> Hasher:
        hasher, store = Hasher(), await self.bucket.store()
        with translated("look at an upload"):
            meta = await obstore.head_async(store, path)
        async for window in self._windows(path, 0, meta["size"], meta["e_tag"]):
            for start in range(0, len(window), READ_CHUNK_BYTES):
                await asyncio.to_thread(hasher.update, window[start : start + READ_CHUNK_BYTES])
        return hasher

    def _sign(self, client: Any, method: str, lifetime_s: int, **parameters: object) -> str:
        url: str = client.generate_presigned_url(
            method, Params={"Bucket": self.bucket.name, **parameters}, ExpiresIn=lifetime_s
        )
        return url
