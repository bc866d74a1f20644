"""From what people type for a remote dataset to how it is reached (spec: repositories, transfer protocols)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from opendatafabric.dataset_ref import DatasetUrl
from opendatafabric.errors import MalformedIdentifier, UnsupportedOperation
from opendatafabric.names import DatasetName
from storage.ipfs.location import parse_location
from storage.open import scheme_of
from storage.s3.location import SCHEMES, parse_s3_address


class Protocol(Enum):
    """``SMART``: conversations over a WebSocket. ``SIMPLE``: walking what lies there."""

    SMART = "smart"
    SIMPLE = "simple"


@dataclass(frozen=True, slots=True)
class RemoteLocation:
    """A dataset elsewhere. ``url`` ends in ``/`` for web addresses and has no ``odf+``."""

    protocol: Protocol
    url: str

    @property
    def is_web(self) -> bool:
        return scheme_of(self.url) in {"http", "https"}

    @property
    def socket_url(self) -> str:
        """The base for WebSockets: ``ws://`` or ``wss://``."""
        return "ws" + self.url.removeprefix("http")

    @property
    def origin(self) -> str:
        """Scheme, host and port: what a saved token belongs to."""
        scheme, _, rest = self.url.partition("://")
        return f"{scheme}://{rest.partition('/')[0]}/"

    @property
    def is_in_s3(self) -> bool:
        return scheme_of(self.url) in SCHEMES

    @property
    def is_in_ipfs(self) -> bool:
        return scheme_of(self.url) in _IPFS

    @property
    def dataset_name(self) -> DatasetName:
        """What to call the dataset here if nobody says: the last part of the path.

        Raises:
            MalformedIdentifier: it has none, or is the root of a tree in IPFS.
        """
        if self.is_in_ipfs and not parse_location(self.url).path:
            raise MalformedIdentifier(f"{self.url} says no name")
        return DatasetName(self.url.rstrip("/").rpartition("/")[2])


_SMART: Final = {"odf+http": "http", "odf+https": "https"}
_SIMPLE: Final = frozenset({"http", "https", "file", ""})
_IPFS: Final = frozenset({"ipfs", "ipns"})


def parse_remote(text: str) -> RemoteLocation:
    """Where ``text`` (a URL, or the path of a folder) leads.

    Raises:
        UnsupportedOperation: a scheme that has no transport.
        MalformedIdentifier: no URL of its scheme.
    """
    scheme = scheme_of(text)
    if scheme in _SMART:
        return RemoteLocation(Protocol.SMART, _web_url(_SMART[scheme] + text[len(scheme) :]))
    if scheme in _SIMPLE:
        return RemoteLocation(Protocol.SIMPLE, _web_url(text) if scheme.startswith("http") else text)
    if scheme in _IPFS:
        parse_location(text)
        return RemoteLocation(Protocol.SIMPLE, text)
    if scheme in SCHEMES:
        return RemoteLocation(Protocol.SIMPLE, str(parse_s3_address(text)))
    raise UnsupportedOperation(
        f"there is no way to {scheme}:// addresses",
        expected="odf+http(s)://, http(s)://, ipfs://, s3://, file:// or a folder",
    )


def _web_url(text: str) -> str:
    url = DatasetUrl.from_text(text).url
    return url if url.endswith("/") else url + "/"
