"""Where a mirror goes: addresses and kinds."""

from __future__ import annotations

import pytest

from opendatafabric.errors import UnsupportedOperation
from opendatafabric.names import DatasetName
from sync.mirror import dataset_address, push_kind


@pytest.mark.parametrize(
    ("target", "address"),
    [
        ("odf+http://other/alice/", "odf+http://other/alice/weather"),
        ("odf+http://other/alice/rain", "odf+http://other/alice/rain"),
        ("file:///mirror/", "file:///mirror/weather"),
        ("kubo+http://127.0.0.1:5001", "kubo+http://127.0.0.1:5001"),
    ],
)
def test_a_target_that_ends_in_a_slash_holds_many_datasets(target: str, address: str) -> None:
    assert dataset_address(target, DatasetName("weather")) == address


@pytest.mark.parametrize("target", ["odf+https://a/", "file:///a/", "/a/", "kubo+http://a:5001", "s3://a-bucket/b/"])
def test_what_can_be_pushed_to_has_a_kind(target: str) -> None:
    assert push_kind(target)


@pytest.mark.parametrize("target", ["http://a/", "ipfs://a", "ftp://a/"])
def test_what_can_only_be_read_has_none(target: str) -> None:
    with pytest.raises(UnsupportedOperation):
        push_kind(target)
