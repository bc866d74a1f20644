"""A tree for web servers in a bucket; the contract is in ``storage/static_tree.py``."""

from __future__ import annotations

import obstore

from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import ObjectNotFound
from storage.dataset import Dataset
from storage.s3.client import bucket_at
from storage.s3.errors import translated
from storage.s3.leftovers import delete_all
from storage.s3.location import S3Location
from storage.s3.presign import S3PresigningStore
from storage.s3.refs import S3RefStore
from storage.static_tree import INDEX_NAME


class S3StaticTree:
    """A StaticTree below ``location``; the bucket is made when it is first written to."""

    def __init__(self, location: S3Location) -> None:
        self._location = location
        self._bucket = bucket_at(location.bucket, location.endpoint)
        self._index = location.path(INDEX_NAME)

    async def read_index(self) -> bytes | None:
        await self._bucket.make()
        store = await self._bucket.store()
        try:
            with translated(f"read {self._index}"):
                return bytes(await (await obstore.get_async(store, self._index)).bytes_async())
        except ObjectNotFound:
            return None

    async def write_index(self, data: bytes) -> None:
        store = await self._bucket.store()
        with translated(f"write {self._index}"):
            await obstore.put_async(store, self._index, data, attributes={"Content-Type": "application/json"})

    async def dataset(self, alias: DatasetAlias) -> Dataset:
        place = self._location.below(str(alias))
        return Dataset(S3PresigningStore(place), S3RefStore(place))

    async def remove(self, alias: DatasetAlias) -> None:
        place = self._location.below(str(alias))
        await obstore.delete_async(await self._bucket.store(), [place.path("refs/head")])
        await delete_all(self._bucket, place, but="")
