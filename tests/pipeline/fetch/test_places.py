"""Which addresses everybody reaches, and names of places that tell no secrets."""

from __future__ import annotations

import pytest

from opendatafabric.errors import AccessDenied, PeerUnavailable
from pipeline.fetch.fetched import FetchOptions
from pipeline.fetch.places import named_place, reachable_address

FOR_STRANGERS = FetchOptions(private_places=False)


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
