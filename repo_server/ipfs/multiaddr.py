"""The address of this server as IPFS writes addresses (multiaddr)."""

from __future__ import annotations

from ipaddress import ip_address

from yarl import URL


def http_multiaddr(url: str) -> str:
    """``/dns/host/tcp/443/tls/http`` of ``https://host``. A path in the URL cannot be said and is left out."""
    parsed = URL(url)
    host = parsed.raw_host or ""
    secure = "/tls" if parsed.scheme == "https" else ""
    return f"/{_kind(host)}/{host}/tcp/{parsed.port}{secure}/http"


def _kind(host: str) -> str:
    try:
        return f"ip{ip_address(host).version}"
    except ValueError:
        return "dns"
