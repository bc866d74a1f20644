"""What remains in a bucket and belongs to nobody: listing by age, deleting, parts of uploads that broke off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import obstore

from storage.s3.client import S3Bucket
from storage.s3.errors import translated
from storage.s3.location import S3Location
from storage.s3.pending import PENDING_FOLDER


async def last_change(bucket: S3Bucket, place: S3Location) -> float:
    """When anything below ``place`` was last written, in seconds since 1970."""
    times = [meta["last_modified"].timestamp() async for meta in _below(bucket, place)]
    return max(times, default=0.0)


async def delete_all(bucket: S3Bucket, place: S3Location, *, but: str) -> None:
    """Delete everything below ``place`` except the object ``but``."""
    await _delete(bucket, [meta["path"] async for meta in _below(bucket, place) if meta["path"] != but])


async def remove_leftovers(bucket: S3Bucket, place: S3Location, before: float) -> None:
    """Delete what has waited in quarantine below ``place`` since before that time, and give up such uploads."""
    waiting = [
        meta["path"]
        async for meta in _below(bucket, place)
        if f"/{PENDING_FOLDER}/" in meta["path"] and meta["last_modified"].timestamp() < before
    ]
    await _delete(bucket, waiting)
    client = await bucket.client()
    with translated("give up uploads"):
        await asyncio.to_thread(_abort_uploads, client, bucket.name, place.path(""), before)


def _abort_uploads(client: Any, bucket: str, prefix: str, before: float) -> None:
    for page in client.get_paginator("list_multipart_uploads").paginate(Bucket=bucket, Prefix=prefix):
        for upload in page.get("Uploads", []):
            if upload["Initiated"].timestamp() < before:
                client.abort_multipart_upload(Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"])


async def _below(bucket: S3Bucket, place: S3Location) -> AsyncIterator[Any]:
    batches = obstore.list(await bucket.store(), place.prefix or None).__aiter__()
    while True:
        with translated(f"list {place}"):
            batch = await anext(batches, None)
        if batch is None:
            return
        for meta in batch:
            yield meta


async def _delete(bucket: S3Bucket, paths: list[str]) -> None:
    if paths:
        with translated(f"delete {len(paths)} objects"):
            await obstore.delete_async(await bucket.store(), paths)
