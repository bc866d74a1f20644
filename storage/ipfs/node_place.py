"""``kubo+http://HOST:PORT/PLACE``: what a catalog calls PLACE, with its bytes at the node behind that RPC.

The host only says where to ask. A place is called by its path alone, so that a node may move.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from opendatafabric.errors import MalformedIdentifier
from storage.ipfs.rpc import SCHEMES

_PATH: Final = re.compile(r"(/[A-Za-z0-9._~-]+)*", re.ASCII)


@dataclass(frozen=True, slots=True)
class NodePlace:
    """``rpc`` is the address of a node; ``path`` is empty or begins with a slash, and never ends with one."""

    rpc: str
    path: str

    def below(self, name: str) -> NodePlace:
        """The place called ``name`` within this one."""
        return NodePlace(self.rpc, f"{self.path}/{name}")

    def __str__(self) -> str:
        return f"{self.rpc}{self.path}"


def is_node_address(scheme: str) -> bool:
    """Whether addresses of that scheme name places at a node."""
    return scheme in SCHEMES


def parse_node_place(address: str) -> NodePlace:
    """The place that an address names.

    Raises:
        MalformedIdentifier: another form, or a secret in it.
    """
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        raise _malformed("it is no URL") from None
    if parts.username is not None or parts.password is not None:
        raise _malformed("it holds a secret: set ODF_IPFS_TOKEN instead")
    path = parts.path.rstrip("/")
    if parts.scheme not in SCHEMES or not parts.hostname or parts.query or parts.fragment:
        raise _malformed("it is of another form")
    if _PATH.fullmatch(path) is None or any(part in {".", ".."} for part in path.split("/")):
        raise _malformed("the part after the host has characters that are not taken")
    return NodePlace(f"{parts.scheme}://{parts.netloc}", path)


def _malformed(why: str) -> MalformedIdentifier:
    return MalformedIdentifier(
        f"this is no place at an IPFS node: {why}", expected="kubo+http://127.0.0.1:5001/datasets"
    )
