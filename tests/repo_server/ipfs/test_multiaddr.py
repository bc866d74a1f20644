"""Addresses as IPFS writes them."""

from __future__ import annotations

import pytest

from repo_server.ipfs.multiaddr import http_multiaddr


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://data.example.org", "/dns/data.example.org/tcp/443/tls/http"),
        ("https://data.example.org:8443/", "/dns/data.example.org/tcp/8443/tls/http"),
        ("http://127.0.0.1:8080", "/ip4/127.0.0.1/tcp/8080/http"),
        ("http://[::1]:8080", "/ip6/::1/tcp/8080/http"),
        ("http://localhost", "/dns/localhost/tcp/80/http"),
    ],
)
def test_the_address_of_a_server(url: str, address: str) -> None:
    assert http_multiaddr(url) == address
