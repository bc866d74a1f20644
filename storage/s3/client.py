"""A bucket: the connections to it, by the settings of AWS as its own library reads them.

Data goes through ``obstore``; ``boto3`` signs addresses, makes buckets and copies what is too large for one request.
Both are made on first use, in a thread: they read files of settings.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError
from obstore.auth.boto3 import Boto3CredentialProvider
from obstore.store import S3Store

from opendatafabric.limits import S3_REQUEST_S_MAX, S3_RETRIES_MAX
from storage.s3.errors import translated

_REGION: Final = "us-east-1"
"""What stores without regions sign with."""

_HERE_ALREADY: Final = frozenset({"BucketAlreadyOwnedByYou", "BucketAlreadyExists"})


@dataclass(frozen=True, slots=True)
class Connected:
    """The two libraries over one bucket."""

    store: S3Store
    client: Any


class S3Bucket:
    """One bucket; cheap to make, connected on first use. ``conditions_proved`` is set once by the probe."""

    def __init__(self, name: str, endpoint: str | None) -> None:
        self.name = name
        self.endpoint = endpoint
        self.conditions_proved = False
        self._connected: Connected | None = None

    async def store(self) -> S3Store:
        """What moves data."""
        return (await self._connect()).store

    async def client(self) -> Any:
        """What signs, and does rare things; its calls block."""
        return (await self._connect()).client

    async def make(self) -> None:
        """Make the bucket if it is not there."""
        client = await self.client()
        with translated(f"make bucket {self.name}"):
            await asyncio.to_thread(_make_bucket, client, self.name)

    async def _connect(self) -> Connected:
        if self._connected is None:
            with translated(f"open bucket {self.name}"):
                self._connected = await asyncio.to_thread(_connect, self.name, self.endpoint)
        return self._connected


@lru_cache(maxsize=64)
def bucket_at(name: str, endpoint: str | None) -> S3Bucket:
    """The bucket; the same one for the same place, so that connections and findings are shared."""
    return S3Bucket(name, endpoint)


def _connect(name: str, endpoint: str | None) -> Connected:
    session = boto3.Session()
    region = session.region_name or _REGION
    config = Config(
        signature_version="s3v4",
        s3={"addressing_style": "path"},
        retries={"max_attempts": S3_RETRIES_MAX, "mode": "standard"},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    client = session.client("s3", endpoint_url=endpoint, region_name=region, config=config)
    address = client.meta.endpoint_url
    store = S3Store(
        name,
        endpoint=address,
        region=region,
        virtual_hosted_style_request=False,
        credential_provider=Boto3CredentialProvider(session),
        client_options={
            "allow_http": address.startswith("http://"),
            "timeout": timedelta(seconds=S3_REQUEST_S_MAX),
            "connect_timeout": timedelta(seconds=10),
        },
        retry_config={
            "max_retries": S3_RETRIES_MAX,
            "retry_timeout": timedelta(seconds=S3_REQUEST_S_MAX),
            "backoff": {
                "init_backoff": timedelta(milliseconds=100),
                "max_backoff": timedelta(seconds=5),
                "base": 2,
            },
        },
    )
    return Connected(store, client)


def _make_bucket(client: Any, name: str) -> None:
    try:
        client.head_bucket(Bucket=name)
        return
    except ClientError as error:
        if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") != 404:
            raise
    region = client.meta.region_name
    place = {} if region == _REGION else {"CreateBucketConfiguration": {"LocationConstraint": region}}
    try:
        client.create_bucket(Bucket=name, **place)
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") not in _HERE_ALREADY:
            raise
