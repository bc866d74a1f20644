"""Where sources lie: how their places are named without secrets, and which of them strangers may have us read.

A server that polls for others must not become their hand in its own network: then only addresses that everybody reaches
are connected to, whatever names and redirects say (``FetchOptions.private_places``).
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from opendatafabric.errors import AccessDenied, MalformedManifest, PeerUnavailable
from pipeline.fetch.fetched import FetchOptions

_USER: Final = re.compile(r"(?<=://)[^/?#]*@")


def named_place(written: str) -> str:
    """The address as the metadata have it, templates unresolved, without user, query and fragment."""
    return re.split(r"[?#]", _USER.sub("", written), maxsplit=1)[0]


def parsed(address: str, place: str) -> SplitResult:
    """The parts of a resolved address.

    Raises:
        MalformedManifest: it is none; the message names ``place`` only, for the address may hold secrets.
    """
    try:
        parts = urlsplit(address)
        if parts.port is None or parts.scheme:
            return parts
    except ValueError:
        pass
    raise MalformedManifest(f"the address of the source {place} is no URL")


def check_private(options: FetchOptions, place: str) -> None:
    """That files and programs of this machine may be used.

    Raises:
        AccessDenied: this poll is for strangers.
    """
    if not options.private_places:
        raise _refused(place)


async def reachable_address(host: str, port: int, options: FetchOptions, place: str) -> str:
    """The host to connect to: as it was given, or the public address behind it where only those may be read.

    Raises:
        AccessDenied: it has none.
        PeerUnavailable: its name is not known.
    """
    if options.private_places:
        return host
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise PeerUnavailable(f"the host of the source {place} is not known") from None
    public = [str(entry[4][0]) for entry in found if is_public(str(entry[4][0]))]
    if not public:
        raise _refused(place)
    return public[0]


class Sockets:
    """Makes the sockets of an HTTP client; ``refused`` once one was to go where it may not."""

    def __init__(self, options: FetchOptions) -> None:
        self._options = options
        self.refused = False

    def open(self, address: tuple[Any, ...]) -> socket.socket:
        """As ``aiohttp`` asks for one, after names were looked up: an answer cannot lie about where it leads."""
        family, kind, protocol, _, target = address
        if not self._options.private_places and not is_public(str(target[0])):
            self.refused = True
            raise PermissionError("the address is not public")
        return socket.socket(family, kind, protocol)

    def refusal(self, place: str) -> AccessDenied | None:
        """What to tell of it."""
        return _refused(place) if self.refused else None


def is_public(address: str) -> bool:
    """Whether everybody on the internet reaches it: no loopback, no private or local network, no group."""
    found = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(found, "ipv4_mapped", None)
    found = mapped or found
    return found.is_global and not found.is_multicast


def _refused(place: str) -> AccessDenied:
    return AccessDenied(
        f"the source {place} lies on this machine or in its network, which is not read for others",
        hint="poll it with odf pull",
    )
