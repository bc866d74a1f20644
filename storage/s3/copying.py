"""Copies inside a bucket: bytes never leave the store. Large ones go in parts, by boto3's own transfer."""

from __future__ import annotations

import asyncio

import obstore

from opendatafabric.errors import HashMismatch
from opendatafabric.limits import S3_COPY_BYTES_MAX
from storage.s3.client import S3Bucket
from storage.s3.errors import ConditionError, translated
from storage.s3.pending import examined_etag
from storage.values import Quarantined


async def copy_object(bucket: S3Bucket, source: str, target: str, quarantined: Quarantined) -> None:
    """Copy ``source`` to ``target``; where others could write ``source``, only in the version that was examined.

    Raises:
        ObjectNotFound: there is no ``source``.
        HashMismatch: it was replaced after it was examined.
    """
    etag = examined_etag(quarantined.token)
    if etag is not None:
        await _copy_version(bucket, source, target, etag)
        return
    with translated(f"publish {target}"):
        if quarantined.size <= S3_COPY_BYTES_MAX:
            await obstore.copy_async(await bucket.store(), source, target)
        else:
            client, place = await bucket.client(), {"Bucket": bucket.name, "Key": source}
            await asyncio.to_thread(client.copy, place, bucket.name, target)


async def _copy_version(bucket: S3Bucket, source: str, target: str, etag: str) -> None:
    client = await bucket.client()
    where = {"Bucket": bucket.name, "Key": target, "CopySource": {"Bucket": bucket.name, "Key": source}}
    try:
        with translated(f"publish {target}"):
            answer = await asyncio.to_thread(client.copy_object, **where, CopySourceIfMatch=etag)
    except ConditionError:
        raise _replaced(target) from None
    if answer["CopyObjectResult"]["ETag"] != etag:  # a store that does not know the condition
        with translated(f"take back {target}"):
            await obstore.delete_async(await bucket.store(), target)
        raise _replaced(target)


def _replaced(target: str) -> HashMismatch:
    return HashMismatch(
        f"{target} was uploaded anew while it was being checked", hint="upload it once, then push again"
    )
