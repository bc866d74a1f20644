"""What people type for a remote dataset, and how it is reached."""

from __future__ import annotations

import pytest

from opendatafabric.errors import MalformedIdentifier, OdfError, UnsupportedOperation
from opendatafabric.ipfs.cid import cid_of_block
from sync.remote import Protocol, parse_remote

CID = cid_of_block(b"x")


@pytest.mark.parametrize(
    ("text", "protocol", "url"),
    [
        ("odf+http://host/alice/weather", Protocol.SMART, "http://host/alice/weather/"),
        ("odf+https://host:8443/weather/", Protocol.SMART, "https://host:8443/weather/"),
        ("http://host/alice/weather", Protocol.SIMPLE, "http://host/alice/weather/"),
        ("https://host/weather/", Protocol.SIMPLE, "https://host/weather/"),
        ("file:///somewhere/weather", Protocol.SIMPLE, "file:///somewhere/weather"),
        ("somewhere/weather", Protocol.SIMPLE, "somewhere/weather"),
        (f"ipfs://{CID}/weather", Protocol.SIMPLE, f"ipfs://{CID}/weather"),
        ("ipns://data.example.org", Protocol.SIMPLE, "ipns://data.example.org"),
    ],
)
def test_a_url_says_its_protocol(text: str, protocol: Protocol, url: str) -> None:
    location = parse_remote(text)
    assert (location.protocol, location.url) == (protocol, url)


@pytest.mark.parametrize(
    ("text", "socket", "origin"),
    [
        ("odf+http://host/a/b", "ws://host/a/b/", "http://host/"),
        ("odf+https://host:8443/b", "wss://host:8443/b/", "https://host:8443/"),
        ("odf+http://http.host/http", "ws://http.host/http/", "http://http.host/"),
    ],
)
def test_a_smart_address_has_a_socket_and_an_origin(text: str, socket: str, origin: str) -> None:
    location = parse_remote(text)
    assert (location.socket_url, location.origin) == (socket, origin)


@pytest.mark.parametrize(
    "text", ["odf+http://host/alice/weather", "http://host/weather/", "file:///x/weather", f"ipfs://{CID}/weather/"]
)
def test_a_dataset_is_called_by_the_last_part_of_its_address(text: str) -> None:
    assert str(parse_remote(text).dataset_name) == "weather"


@pytest.mark.parametrize("text", ["ftp://host/x", "odf+ftp://host/x", "s4://bucket/x"])
def test_a_scheme_without_transport_is_refused(text: str) -> None:
    with pytest.raises(UnsupportedOperation):
        parse_remote(text)


@pytest.mark.parametrize(
    "text", ["odf+http://", "http://", "http://host:port/", "odf+http://h o/x", "ipfs://cid/x", "ipns://"]
)
def test_what_is_no_url_is_malformed(text: str) -> None:
    with pytest.raises((MalformedIdentifier, UnsupportedOperation)) as refused:
        parse_remote(text)
    assert isinstance(refused.value, OdfError)


@pytest.mark.parametrize("text", [f"ipfs://{CID}", f"ipfs://{CID}/", "ipns://data.example.org/"])
def test_the_root_of_a_tree_in_ipfs_says_no_name(text: str) -> None:
    location = parse_remote(text)
    assert location.is_in_ipfs
    with pytest.raises(MalformedIdentifier):
        _ = location.dataset_name


@pytest.mark.parametrize("text", ["s3://bucket/a/weather", "s3+http://127.0.0.1:9000/bucket/weather/"])
def test_an_address_in_s3_is_walked(text: str) -> None:
    location = parse_remote(text)
    assert (location.protocol, location.is_in_s3, location.is_web) == (Protocol.SIMPLE, True, False)
    assert (location.url, str(location.dataset_name)) == (text.rstrip("/"), "weather")
