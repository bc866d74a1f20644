"""What remains in a bucket and belongs to nobody: listing by age, deleting, parts of uploads that broke off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import obstore

from storage.s3.client import S3Bucket
from storage.s3.errors import translated
from storage.s3.location import S3Location
from storage.s3.pending import PENDING_FOLDER
from storage.values import ObjectInfo


async def last_change(bucket: S3Bucket, place: S3Location) -> float:
    """When anything below ``place`` was last written, in seconds since 1970."""
    times = [meta["last_modified"].timestamp() async for meta in _below(bucket, place)]
    return max(times, default=0.0)


async def delete_all(bucket: S3Bucket, place: S3Location, *, but: str) -> None:
    """Delete everything below ``place`` except the object ``but``."""
    await _delete(bucket, [meta["path"] async for meta in _below(bucket, place) if meta["path"] != but])


async def expire_waiting(bucket: S3Bucket, place: S3Location, *, before: float, dry_run: bool) -> list[ObjectInfo]:
    """Delete what has waited in quarantine of the dataset at ``place`` since before that time; what it was."""
    waiting = [meta async for meta in _below(bucket, place.below(PENDING_FOLDER))]
    old = [_info(place, meta) for meta in waiting if meta["last_modified"].timestamp() < before]
    if not dry_run:
        await _delete(bucket, [place.path(info.key) for info in old])
    return old


async def give_up_uploads(bucket: S3Bucket, place: S3Location, *, before: float, dry_run: bool) -> list[ObjectInfo]:
    """End the multipart uploads below ``place`` that got no part since before that time; what was sent of them."""
    client = await bucket.client()
    with translated("give up uploads"):
        return await asyncio.to_thread(_give_up, client, bucket.name, place, before, dry_run)


def _give_up(client: Any, bucket: str, place: S3Location, before: float, dry_run: bool) -> list[ObjectInfo]:
    given_up = []
    for page in client.get_paginator("list_multipart_uploads").paginate(Bucket=bucket, Prefix=place.path("")):
        for upload in page.get("Uploads", []):
            which = {"Bucket": bucket, "Key": upload["Key"], "UploadId": upload["UploadId"]}
            size, last = _parts_of(client, which)
            last = max(last, upload["Initiated"].timestamp())
            if last < before:
                given_up.append(ObjectInfo(upload["Key"].removeprefix(place.path("")), size, last))
                if not dry_run:
                    client.abort_multipart_upload(**which)
    return given_up


def _parts_of(client: Any, which: Mapping[str, str]) -> tuple[int, float]:
    """Bytes sent, and when the last of them came."""
    pages = client.get_paginator("list_parts").paginate(**which)
    parts = [part for page in pages for part in page.get("Parts", [])]
    times = (part["LastModified"].timestamp() for part in parts)
    return sum(part["Size"] for part in parts), max(times, default=0.0)


def _info(place: S3Location, meta: Mapping[str, Any]) -> ObjectInfo:
    return ObjectInfo(meta["path"].removeprefix(place.path("")), meta["size"], meta["last_modified"].timestamp())


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
