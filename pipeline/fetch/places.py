"""Where sources lie: how their places are named without secrets, and which of them strangers may have us read.

A server that polls for others must not become their hand in its own network: then only addresses that everybody reaches
are connected to, whatever names and redirects say (``FetchOptions.private_places``).
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import SplitResult, urlsplit

from opendatafabric.errors import AccessDenied, MalformedManifest, PeerUnavailable
from pipeline.fetch.fetched import FetchOptions
from storage.public_addresses import Sockets, public_address

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
        return await public_address(host, port)
    except AccessDenied:
        raise _refused(place) from None
    except PeerUnavailable:
        raise PeerUnavailable(f"the host of the source {place} is not known") from None


def sockets_for(options: FetchOptions) -> Sockets:
    """What a poll connects with."""
    return Sockets(private_places=options.private_places)


def refusal(sockets: Sockets, place: str) -> AccessDenied | None:
    """What to tell of a connection that was refused."""
    return _refused(place) if sockets.refused else None


def _refused(place: str) -> AccessDenied:
    return AccessDenied(
        f"the source {place} lies on this machine or in its network, which is not read for others",
        hint="poll it with odf pull",
    )
