"""How commands reach IPFS: by their options, else by the settings."""

from __future__ import annotations

from typing import Annotated

import typer

from storage.ipfs.access import IpfsAccess

IpfsGateway = Annotated[
    str | None,
    typer.Option(
        "--ipfs-gateway",
        metavar="URL",
        help="Gateway (http://...) or RPC of a node (kubo+http://...) for ipfs:// and ipns://; else ODF_IPFS_GATEWAY.",
    ),
]
Trustless = Annotated[bool, typer.Option("--trustless", help="Prove every block of IPFS, the head included.")]


def ipfs_access(gateway: str | None = None, *, trustless: bool = False) -> IpfsAccess | None:
    """What the options say, completed by the settings; ``None`` when neither names a gateway."""
    from repo_server.config import Settings  # noqa: PLC0415  commands that need no settings do not wait for them

    settings = Settings()
    address = gateway or settings.ipfs_gateway
    if address is None:
        return None
    token = None if settings.ipfs_token is None else settings.ipfs_token.get_secret_value()
    return IpfsAccess(address, token, trustless or settings.ipfs_trustless)
