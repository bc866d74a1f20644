"""Addresses in S3: ``s3://bucket/prefix`` and, at an endpoint of one's own, ``s3+http(s)://host:port/bucket/prefix``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from opendatafabric.errors import MalformedIdentifier

SCHEMES: Final = frozenset({"s3", "s3+http", "s3+https"})
_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", re.ASCII)
_PREFIX: Final = re.compile(r"[A-Za-z0-9._+@=~-]+(/[A-Za-z0-9._+@=~-]+)*", re.ASCII)


@dataclass(frozen=True, slots=True)
class S3Location:
    """A place in a bucket; ``endpoint`` is ``None`` where the settings of AWS say it. ``prefix`` begins and ends
    without a slash."""

    bucket: str
    prefix: str
    endpoint: str | None = None

    def path(self, key: str) -> str:
        """The name in the bucket of what is called ``key`` here."""
        return f"{self.prefix}/{key}" if self.prefix else key

    def below(self, name: str) -> S3Location:
        """The place called ``name`` within this one."""
        return S3Location(self.bucket, self.path(name), self.endpoint)

    def __str__(self) -> str:
        root = "s3://" if self.endpoint is None else f"s3+{self.endpoint}/"
        return f"{root}{self.bucket}/{self.prefix}".rstrip("/")


def parse_s3_address(address: str) -> S3Location:
    """The place that an address names.

    Raises:
        MalformedIdentifier: another form, or keys in it: those come from the settings of AWS, never from an address.
    """
    try:
        parts = urlsplit(address)
        with_endpoint = parts.scheme != "s3"
        credentials = parts.username is not None or parts.password is not None
        _ = parts.port
    except ValueError:
        raise _malformed("it is no URL") from None
    if parts.scheme not in SCHEMES or parts.query or parts.fragment:
        raise _malformed("it is of another form")
    if credentials:
        raise _malformed("keys do not belong in an address: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
    path = unquote(parts.path).strip("/") if with_endpoint else parts.netloc + unquote(parts.path)
    bucket, _, prefix = path.partition("/")
    prefix = prefix.strip("/")
    if _BUCKET.fullmatch(bucket) is None or (with_endpoint and not parts.hostname):
        raise _malformed("it names no bucket")
    if prefix and (_PREFIX.fullmatch(prefix) is None or any(part in {".", ".."} for part in prefix.split("/"))):
        raise _malformed("the part after the bucket has characters that are not taken")
    endpoint = f"{parts.scheme.removeprefix('s3+')}://{parts.netloc}" if with_endpoint else None
    return S3Location(bucket, prefix, endpoint)


def _malformed(why: str) -> MalformedIdentifier:
    return MalformedIdentifier(
        f"this is no address in S3: {why}", expected="s3://bucket/prefix or s3+https://host/bucket/prefix"
    )
