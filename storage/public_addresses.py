"""Addresses that strangers may have us ask: those that everybody on the internet reaches, and no others.

A server that asks on behalf of others (sources, alerts, issuers of tokens) must not become their hand in its own
network. What counts is where a connection goes, not what a name or a redirect says: names are looked up once, and the
address that was looked at is the one that is connected to. So an answer of the domain name system that changes in
between changes nothing.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import Any, Final

import aiohttp

from opendatafabric.errors import AccessDenied, PeerUnavailable

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_TRANSLATED: Final = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))
"""IPv6 addresses that gateways make IPv4 connections of: the last four bytes say where to."""

_COMPATIBLE: Final = ipaddress.IPv6Network("::/96")


def is_public(address: str) -> bool:
    """Whether everybody on the internet reaches it: no loopback, no private or local network, no group, nor an IPv6
    address that leads to such an IPv4 address."""
    found = ipaddress.ip_address(address.partition("%")[0])
    found = getattr(found, "ipv4_mapped", None) or found  # what versions of Python say of the mapped one differs
    return all(each.is_global and not each.is_multicast for each in (found, *_led_to(found)))


class Sockets:
    """Makes the sockets of an HTTP client; ``refused`` once one was to go where it may not."""

    def __init__(self, *, private_places: bool) -> None:
        self._private_places = private_places
        self.refused = False

    def open(self, address: tuple[Any, ...]) -> socket.socket:
        """As ``aiohttp`` asks for one, after names were looked up: an answer cannot lie about where it leads."""
        family, kind, protocol, _, target = address
        if not self._private_places and not is_public(str(target[0])):
            self.refused = True
            raise PermissionError("the address is not public")
        return socket.socket(family, kind, protocol)

    def connector(self, resolver: aiohttp.abc.AbstractResolver | None = None) -> aiohttp.TCPConnector:
        """What a client session connects with."""
        return aiohttp.TCPConnector(socket_factory=self.open, resolver=resolver)


async def public_address(host: str, port: int) -> str:
    """One public address behind a name, to connect to in its place.

    Raises:
        AccessDenied: it has none.
        PeerUnavailable: the name is not known.
    """
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise PeerUnavailable(f"the host {host[:100]} is not known") from None
    public = [str(entry[4][0]) for entry in found if is_public(str(entry[4][0]))]
    if not public:
        raise AccessDenied(f"the host {host[:100]} lies on this machine or in its network")
    return public[0]


def _led_to(found: Address) -> list[Address]:
    if not isinstance(found, ipaddress.IPv6Address):
        return []
    inner: list[Address | None] = [found.sixtofour, *(found.teredo or ())]
    if any(found in network for network in (*_TRANSLATED, _COMPATIBLE)):
        inner.append(ipaddress.IPv4Address(found.packed[-4:]))
    return [each for each in inner if each is not None]
