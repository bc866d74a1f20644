"""Which addresses everybody reaches, and that what was looked at is what is connected to."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.test_utils import TestServer

from opendatafabric.errors import AccessDenied, PeerUnavailable
from storage.public_addresses import Sockets, is_public, public_address


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1"]
)
def test_addresses_of_the_internet_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "224.0.0.1",
        "255.255.255.255", "::1", "::", "fe80::1%eth0", "fc00::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
        "::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::169.254.169.254", "64:ff9b:1::127.0.0.1", "2002:7f00:1::1",
        "fd00:ec2::254",
    ],
)  # fmt: skip
def test_addresses_of_one_network_are_not_however_they_are_written(address: str) -> None:
    assert not is_public(address)


async def test_a_private_host_is_refused_by_name_and_address() -> None:
    for host in ("localhost", "127.0.0.1", "::1", "0x7f.1", "2130706433"):
        with pytest.raises(AccessDenied):
            await public_address(host, 80)


async def test_a_public_host_is_reached_by_its_address() -> None:
    assert await public_address("8.8.8.8", 80) == "8.8.8.8"


async def test_a_host_that_nobody_knows_is_said_to_be_so() -> None:
    with pytest.raises(PeerUnavailable):
        await public_address("a" * 300, 80)


class Rebinding(AbstractResolver):
    """Names lead to a public address when they are asked for first, and to this machine afterwards."""

    def __init__(self, port: int) -> None:
        self.port, self.answers = port, 0

    async def addresses(self, host: str) -> list[str]:
        return [found["host"] for found in await self.resolve(host)]

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        self.answers += 1
        address = "192.88.99.1" if self.answers == 1 else "127.0.0.1"
        return [ResolveResult(hostname=host, host=address, port=self.port, family=family, proto=0, flags=0)]

    async def close(self) -> None:
        pass


@pytest.fixture
async def private_server() -> AsyncIterator[TestServer]:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(text="private")

    application = web.Application()
    application.router.add_get("/", answer)
    async with TestServer(application) as running:
        yield running


async def asked(sockets: Sockets, url: Any, resolver: AbstractResolver | None = None) -> str:
    session = aiohttp.ClientSession(connector=sockets.connector(resolver))
    async with session, session.get(url) as response:
        return await response.text()


async def test_a_private_place_is_reached_by_those_who_may(private_server: TestServer) -> None:
    assert await asked(Sockets(private_places=True), private_server.make_url("/")) == "private"


async def test_a_private_place_is_not_connected_to_for_others(private_server: TestServer) -> None:
    for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]"):
        sockets = Sockets(private_places=False)
        with pytest.raises(aiohttp.ClientError):
            await asked(sockets, f"http://{host}:{private_server.port}/")
        assert sockets.refused


async def test_a_name_that_leads_elsewhere_the_second_time_does_not_lead_there(private_server: TestServer) -> None:
    assert private_server.port is not None
    sockets, rebinding = Sockets(private_places=False), Rebinding(private_server.port)
    assert all(is_public(address) for address in await rebinding.addresses("rebinding.example"))
    with pytest.raises(aiohttp.ClientError):
        await asked(sockets, "http://rebinding.example/", rebinding)
    assert (sockets.refused, rebinding.answers) == (True, 2)
