"""Where a request comes from: the peer of the connection, or who a proxy that is trusted says it speaks for.

Anybody can write ``X-Forwarded-For``. It is read from its end, as long as those who wrote it are trusted proxies.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

Network = IPv4Network | IPv6Network
_HOPS_MAX: Final = 10
_PREFIX_OF_ONE: Final = 64
"""An IPv6 network of this size is one customer's: whoever has one has all addresses in it."""


@lru_cache
def networks(texts: tuple[str, ...]) -> tuple[Network, ...]:
    """Networks or single addresses; ``ValueError`` names what is none."""
    return tuple(ip_network(text, strict=False) for text in texts)


def client_address(peer: str | None, forwarded: Iterable[str], trusted: tuple[Network, ...]) -> str:
    """The address of the client: ``forwarded`` are the values of all ``X-Forwarded-For`` headers, in order."""
    address = peer or ""
    if not trusted:
        return address
    named = [each.strip() for value in forwarded for each in value.split(",")]
    for each in reversed(named[-_HOPS_MAX:]):
        found = _parsed(each)
        if not _is_in(address, trusted) or found is None:
            break
        address = str(found)
    return address


@lru_cache(10_000)
def one_customer(address: str) -> str:
    """What is counted as one: an IPv4 address, a network of IPv6; text that is no address as it is."""
    found = _parsed(address)
    if isinstance(found, IPv6Address):
        return str(ip_network((found, _PREFIX_OF_ONE), strict=False))
    return address if found is None else str(found)


def _is_in(address: str, trusted: tuple[Network, ...]) -> bool:
    found = _parsed(address)
    return found is None or any(found in each for each in trusted)  # no address: a socket of this machine


def _parsed(text: str) -> IPv4Address | IPv6Address | None:
    try:
        found = ip_address(text)
    except ValueError:
        return None
    return found.ipv4_mapped or found if isinstance(found, IPv6Address) else found
