"""The part of fsck that only a bucket needs: what lies below a dataset and is none of its keys, or waits there."""

from __future__ import annotations

from typing import Final

from opendatafabric.layout import INFO, REFS
from storage.keys import is_object_key
from storage.ref_text import is_ref_name
from storage.s3.client import S3Bucket
from storage.s3.leftovers import below
from storage.s3.location import S3Location
from storage.s3.pending import PENDING_FOLDER
from storage.values import FsckFinding

_LEFTOVER_REMEDY: Final = "odf gc removes it once it is older than every running push"


async def strays_in(bucket: S3Bucket, place: S3Location) -> list[FsckFinding]:
    """What lies below the dataset at ``place`` and belongs to no chain whatever its bytes are."""
    keys = [meta["path"].removeprefix(place.path("")) async for meta in below(bucket, place)]
    return [finding for finding in map(_stray, sorted(keys)) if finding is not None]


def _stray(key: str) -> FsckFinding | None:
    folder, _, name = key.partition("/")
    if folder == PENDING_FOLDER:
        return FsckFinding("leftover", key, "an upload that was never published, or is under way", _LEFTOVER_REMEDY)
    belongs = (folder == REFS and is_ref_name(name)) or folder == INFO or is_object_key(key) or key.startswith(".")
    if belongs:
        return None
    return FsckFinding("foreign-file", key, "no part of a dataset", "remove it if you know what it is")
