"""The head of a dataset behind plain HTTP. Only ``head`` is known there, and it cannot be moved."""

from __future__ import annotations

from collections.abc import Mapping

import aiohttp

from opendatafabric.block_ref import HEAD, check_block_ref
from opendatafabric.errors import ObjectNotFound, UnsupportedOperation
from opendatafabric.multihash import Multihash
from storage.http.answer import REPOSITORY, HttpFolder, Manners
from storage.ref_text import REF_BYTES_MAX, parse_ref


class HttpRefStore:
    """A RefStore that reads ``refs/…`` below ``base_url``."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        base_url: str,
        headers: Mapping[str, str] | None = None,
        manners: Manners = REPOSITORY,
    ) -> None:
        self._folder = HttpFolder(session, base_url, headers, manners)

    async def read(self, name: str) -> Multihash | None:
        check_block_ref(name)
        path = f"refs/{name}"
        try:
            async with self._folder.request("GET", path) as response:
                return parse_ref(path, await _read_up_to(response, REF_BYTES_MAX + 1))
        except ObjectNotFound:
            return None

    async def compare_and_swap(self, name: str, *, expected: Multihash | None, new: Multihash | None) -> None:
        raise UnsupportedOperation(
            "a head behind plain HTTP cannot be moved", hint="push with an odf+http:// or odf+https:// address"
        )

    async def list(self) -> dict[str, Multihash]:
        head = await self.read(HEAD)
        return {} if head is None else {HEAD: head}


async def _read_up_to(response: aiohttp.ClientResponse, size_max: int) -> bytes:
    data = b""
    while len(data) < size_max and (piece := await response.content.read(size_max - len(data))):
        data += piece
    return data
