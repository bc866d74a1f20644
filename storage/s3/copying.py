"""Copies inside a bucket: bytes never leave the store. Large ones go in parts, by boto3's own transfer."""

from __future__ import annotations

import asyncio

import obstore

from opendatafabric.limits import S3_COPY_BYTES_MAX
from storage.s3.client import S3Bucket
from storage.s3.errors import translated


async def copy_object(bucket: S3Bucket, source: str, target: str, size: int) -> None:
    """Copy ``source``, of ``size`` bytes, to ``target``.

    Raises:
        ObjectNotFound: there is no ``source``.
    """
    with translated(f"copy to {target}"):
        if size <= S3_COPY_BYTES_MAX:
            await obstore.copy_async(await bucket.store(), source, target)
        else:
            client, place = await bucket.client(), {"Bucket": bucket.name, "Key": source}
            await asyncio.to_thread(client.copy, place, bucket.name, target)
