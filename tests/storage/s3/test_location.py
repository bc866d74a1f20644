"""Addresses in S3: what is taken, what is refused, and that no key is ever repeated in a message."""

from __future__ import annotations

import pytest

from opendatafabric.errors import MalformedIdentifier
from storage.s3.location import S3Location, parse_s3_address


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s3://bucket", S3Location("bucket", "")),
        ("s3://bucket/a/b/", S3Location("bucket", "a/b")),
        ("s3+http://127.0.0.1:9000/bucket/a", S3Location("bucket", "a", "http://127.0.0.1:9000")),
        ("s3+https://host/bucket", S3Location("bucket", "", "https://host")),
    ],
)
def test_an_address_names_endpoint_bucket_and_prefix(text: str, expected: S3Location) -> None:
    assert parse_s3_address(text) == expected
    assert str(expected) == text.rstrip("/")


@pytest.mark.parametrize(
    "text",
    [
        "s3://",
        "s3://B",
        "s3://a_b/x",
        "s3:///bucket",
        "s3://bucket/a/../b",
        "s3://bucket/a b",
        "s3://bucket/a?versionId=1",
        "s3://bucket/a#b",
        "s3+http://host",
        "s3+http://host:port/bucket",
        "s3+ftp://host/bucket",
    ],
)
def test_another_form_is_refused(text: str) -> None:
    with pytest.raises(MalformedIdentifier, match="no address in S3"):
        parse_s3_address(text)


@pytest.mark.parametrize("text", ["s3://key:secret@bucket/x", "s3+https://key:secret@host/bucket"])
def test_keys_in_an_address_are_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(MalformedIdentifier, match="AWS_ACCESS_KEY_ID") as refused:
        parse_s3_address(text)
    assert "secret" not in str(refused.value)


def test_a_place_below_another_keeps_bucket_and_endpoint() -> None:
    place = parse_s3_address("s3+https://host/bucket/a").below("b")
    assert (str(place), place.path("refs/head")) == ("s3+https://host/bucket/a/b", "a/b/refs/head")
    assert S3Location("bucket", "").path("refs/head") == "refs/head"
