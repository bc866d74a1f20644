"""What remains in a bucket and belongs to nobody: listing by age, deleting, parts of uploads that broke off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import obstore

from storage.s3.client import S3Bucket
from storage.s3.errors import translated
from storage.s3.location import S3Location
from storage.s3.pending import PENDING_FOLDER
from storage.values import ObjectInfo


async def last_change(bucket: S3Bucket, place: S3Location) -> float:
    """When anything below ``place`` was last written, in seconds since 1970."""
    times = [meta["last_modified"].timestamp() async for meta in below(bucket, place)]
    return max(times, default=0.0)


async def delete_all(bucket: S3Bucket, place: S3Location, *, but: str) -> None:
    """Delete everything below ``place`` except the object ``but``."""
    await _delete(bucket, [meta["path"] async for meta in below(bucket, place) if meta["path"] != but])


async def expire_waiting(bucket: S3Bucket, place: S3Location, *, before: float, dry_run: bool) -> list[ObjectInfo]:
    """Delete what has waited in quarantine of the dataset at ``place`` since before that time; what it was."""
    waiting = [meta async for meta in below(bucket, place.below(PENDING_FOLDER))]
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
    for which in _under_way(client, bucket, place):
        sent = _sent(client, place, which)
        if sent.modified_at < before:
            given_up.append(sent)
            if not dry_run:
                client.abort_multipart_upload(**which["where"])
    return given_up


def _under_way(client: Any, bucket: str, place: S3Location) -> Iterator[dict[str, Any]]:
    # Asked for those below a folder, MinIO tells of none; there are never many in a bucket.
    pages = client.get_paginator("list_multipart_uploads").paginate(Bucket=bucket)
    for upload in (upload for page in pages for upload in page.get("Uploads", [])):
        where = {"Bucket": bucket, "Key": upload["Key"], "UploadId": upload["UploadId"]}
        if upload["Key"].startswith(place.path("")):
            yield {"where": where, "began": upload["Initiated"].timestamp()}


def _sent(client: Any, place: S3Location, which: dict[str, Any]) -> ObjectInfo:
    """The parts of an upload together, as old as the last of them."""
    pages = client.get_paginator("list_parts").paginate(**which["where"])
    parts = [part for page in pages for part in page.get("Parts", [])]
    times = [which["began"], *(part["LastModified"].timestamp() for part in parts)]
    key = which["where"]["Key"].removeprefix(place.path(""))
    return ObjectInfo(key, sum(part["Size"] for part in parts), max(times))


def _info(place: S3Location, meta: Mapping[str, Any]) -> ObjectInfo:
    return ObjectInfo(meta["path"].removeprefix(place.path("")), meta["size"], meta["last_modified"].timestamp())


async def below(bucket: S3Bucket, place: S3Location) -> AsyncIterator[Any]:
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
