"""Addresses of places at a node: host and path, nothing else."""

from __future__ import annotations

import pytest

from opendatafabric.errors import MalformedIdentifier
from storage.ipfs.node_place import NodePlace, parse_node_place


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("kubo+http://127.0.0.1:5001", NodePlace("kubo+http://127.0.0.1:5001", "")),
        ("kubo+http://127.0.0.1:5001/", NodePlace("kubo+http://127.0.0.1:5001", "")),
        ("kubo+https://node.example.org/my/data/", NodePlace("kubo+https://node.example.org", "/my/data")),
    ],
)
def test_an_address_is_a_node_and_a_path(address: str, place: NodePlace) -> None:
    assert parse_node_place(address) == place
    assert parse_node_place(str(place)) == place
    assert parse_node_place(str(place.below("x"))).path == f"{place.path}/x"


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:5001/x",
        "kubo+http:///x",
        "kubo+http://127.0.0.1:5001/x?key=y",
        "kubo+http://127.0.0.1:5001/x#y",
        "kubo+http://127.0.0.1:5001/a/../b",
        "kubo+http://127.0.0.1:5001/a//b",
        "kubo+http://127.0.0.1:5001/a b",
        "kubo+http://127.0.0.1:99999/x",
        "kubo+http://user:hidden@127.0.0.1:5001/x",
    ],
)
def test_another_form_is_refused_without_telling_secrets(address: str) -> None:
    with pytest.raises(MalformedIdentifier) as refused:
        parse_node_place(address)
    assert "hidden" not in str(refused.value.as_dict())
