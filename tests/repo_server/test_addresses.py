"""Where requests come from: nobody makes up an address, and whom a trusted proxy speaks for is believed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repo_server.addresses import client_address, networks, one_customer
from repo_server.config import Settings

PROXIES = networks(("10.0.0.0/8", "::1", "2001:db8::/32"))


@pytest.mark.parametrize(
    ("peer", "forwarded", "found"),
    [
        ("203.0.113.9", [], "203.0.113.9"),
        ("203.0.113.9", ["198.51.100.1"], "203.0.113.9"),
        ("10.1.2.3", ["198.51.100.1"], "198.51.100.1"),
        ("10.1.2.3", ["made up, 198.51.100.1"], "198.51.100.1"),
        ("10.1.2.3", ["1.1.1.1, 198.51.100.1", "10.9.9.9"], "198.51.100.1"),
        ("10.1.2.3", ["10.7.7.7, 10.8.8.8"], "10.7.7.7"),
        ("10.1.2.3", ["198.51.100.1, no address"], "10.1.2.3"),
        ("10.1.2.3", [""], "10.1.2.3"),
        ("::ffff:10.1.2.3", ["2001:db9::1"], "2001:db9::1"),
        ("10.1.2.3", ["::ffff:198.51.100.1"], "198.51.100.1"),
        ("", ["198.51.100.1"], "198.51.100.1"),
        (None, [], ""),
    ],
)
def test_what_a_trusted_proxy_says_is_believed_and_no_more(peer: str | None, forwarded: list[str], found: str) -> None:
    assert client_address(peer, forwarded, PROXIES) == found


def test_without_trusted_proxies_nothing_is_believed() -> None:
    assert client_address("127.0.0.1", ["198.51.100.1"], ()) == "127.0.0.1"


@given(forwarded=st.lists(st.text(max_size=30), max_size=3))
def test_whatever_a_client_writes_it_does_not_change_its_address(forwarded: list[str]) -> None:
    assert client_address("203.0.113.9", forwarded, PROXIES) == "203.0.113.9"
    assert client_address("10.0.0.1", [*forwarded, "203.0.113.9"], PROXIES) == "203.0.113.9"


@pytest.mark.parametrize(
    ("address", "counted_as"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("", ""),
        ("a socket", "a socket"),
    ],
)
def test_all_addresses_of_one_customer_count_as_one(address: str, counted_as: str) -> None:
    assert one_customer(address) == counted_as


def test_the_setting_takes_addresses_and_networks_and_nothing_else() -> None:
    assert Settings(trusted_proxies="10.0.0.0/8 ::1").proxy_networks == networks(("10.0.0.0/8", "::1"))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="does not appear"):
        Settings(trusted_proxies="proxy.example.org")  # type: ignore[arg-type]
