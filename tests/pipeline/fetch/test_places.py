"""Which addresses everybody reaches, and names of places that tell no secrets."""

from __future__ import annotations

import pytest

from opendatafabric.errors import AccessDenied, PeerUnavailable
from pipeline.fetch.fetched import FetchOptions
from pipeline.fetch.places import is_public, named_place, reachable_address

FOR_STRANGERS = FetchOptions(private_places=False)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_addresses_of_the_internet_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "224.0.0.1",
        "255.255.255.255", "::1", "::", "fe80::1%eth0", "fc00::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
    ],
)  # fmt: skip
def test_addresses_of_one_network_are_not(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("https://user:secret@host:1/path?key=secret#x", "https://host:1/path"),
        ("https://${{ env.A }}:${{ env.B }}@host/${{ env.KEY }}", "https://host/${{ env.KEY }}"),
        ("${{ env.URL }}", "${{ env.URL }}"),
        ("https://host/a@b", "https://host/a@b"),
    ],
)
def test_a_place_is_named_as_the_metadata_have_it_without_user_and_query(written: str, told: str) -> None:
    assert named_place(written) == told


async def test_a_host_of_ones_own_needs_no_look_up() -> None:
    assert await reachable_address("no.such.host.invalid", 1, FetchOptions(), "x") == "no.such.host.invalid"


async def test_a_private_host_is_refused_by_name_and_address() -> None:
    for host in ("localhost", "127.0.0.1"):
        with pytest.raises(AccessDenied, match="place"):
            await reachable_address(host, 1, FOR_STRANGERS, "place")


async def test_a_public_host_is_reached_by_its_address() -> None:
    assert await reachable_address("8.8.8.8", 1, FOR_STRANGERS, "x") == "8.8.8.8"


async def test_a_host_that_nobody_knows_is_said_to_be_so() -> None:
    with pytest.raises(PeerUnavailable):
        await reachable_address("a" * 300, 1, FOR_STRANGERS, "x")
