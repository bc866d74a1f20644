"""``ipfs://CID/path`` and ``ipns://NAME/path``: where a dataset lies in IPFS. The first part is never a host to ask."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from opendatafabric.errors import MalformedIdentifier
from opendatafabric.ipfs.cid import Cid, Codec
from opendatafabric.ipfs.ipns import IpnsName
from opendatafabric.limits import URL_CHARS_MAX

IPFS: Final = "ipfs"
IPNS: Final = "ipns"
_DNS_LINK: Final = re.compile(
    r"(?=.{4,253}\Z)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]", re.A
)


@dataclass(frozen=True, slots=True)
class DnsLink:
    """A domain whose owner wrote into its DNS where to look; nothing proves what is found that way."""

    domain: str

    def __str__(self) -> str:
        return self.domain


@dataclass(frozen=True, slots=True)
class IpfsLocation:
    """A folder below a root: a CID, or a name that leads to one."""

    root: Cid | IpnsName | DnsLink
    path: tuple[str, ...] = ()

    @property
    def namespace(self) -> str:
        return IPFS if isinstance(self.root, Cid) else IPNS

    @property
    def content_path(self) -> str:
        """``ipfs/bafy…/path``, with names in the old form ``12D3…``, which alone every node and gateway reads."""
        root = self.root.peer_id if isinstance(self.root, IpnsName) else str(self.root)
        return "/".join((self.namespace, root, *self.path))


def parse_location(text: str) -> IpfsLocation:
    """Read ``ipfs://…`` or ``ipns://…``.

    Raises:
        MalformedIdentifier: another scheme, no CID or name of a kind that is read here, or a path that leads upward.
    """
    scheme, _, rest = text.partition("://")
    return _location(scheme.lower(), rest, text)


def parse_content_path(text: str) -> IpfsLocation:
    """Read ``/ipfs/…`` or ``/ipns/…``: what a record of IPNS or a node says; errors as in ``parse_location``."""
    empty, _, rest = text.partition("/")
    namespace, _, rest = rest.partition("/")
    return _location("" if empty else namespace, rest, text)


def _location(namespace: str, rest: str, text: str) -> IpfsLocation:
    if namespace not in {IPFS, IPNS} or len(text) > URL_CHARS_MAX:
        raise MalformedIdentifier("no place in IPFS", expected="ipfs://CID/ or ipns://NAME/", found=repr(text[:100]))
    name, *path = rest.rstrip("/").split("/")
    return IpfsLocation(_cid(name) if namespace == IPFS else _name(name), tuple(_path_part(part) for part in path))


def _cid(text: str) -> Cid:
    found = Cid.from_text(text)
    if found.codec not in {Codec.DAG_PB, Codec.RAW}:
        raise MalformedIdentifier(f"{text[:100]} names no folder", expected="a CID of dag-pb", found=found.codec.name)
    return found


def _name(text: str) -> IpnsName | DnsLink:
    if "." not in text:
        return IpnsName.from_text(text)
    if _DNS_LINK.fullmatch(text.lower()) is None:
        raise MalformedIdentifier(f"{text[:100]!r} is no domain", expected="as in ipns://data.example.org/")
    return DnsLink(text.lower())


def _path_part(text: str) -> str:
    part = unquote(text)
    if part in {"", ".", ".."} or not part.isprintable() or set(part) & set("/%"):
        raise MalformedIdentifier(f"a path in IPFS has a part that leads nowhere: {part[:100]!r}")
    return part
