"""An IPFS node behind its RPC, as the few things that are asked of it. Works with Kubo and js-ipfs alike.

Whatever can be checked is: blocks against their CID, an added file against the CID worked out here, an import against
the root it must have. Options that a node's settings could change are always sent. CIDs go as base32, which all read.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import Final

from opendatafabric.errors import (
    HashMismatch,
    LimitExceeded,
    NotFound,
    OdfError,
    ProtocolViolation,
    TransientStorageError,
)
from opendatafabric.ipfs.cid import Cid
from opendatafabric.ipfs.unixfs import KUBO_RAW_LEAVES
from opendatafabric.limits import IPFS_BLOCK_BYTES_MAX
from storage.ipfs.rpc import KuboRpc, Line, Upload

_BASE32: Final = ("cid-base", "base32")
_VALUE: Final = 5
"""Type of the lines of routing/get that hold a record."""

_ADD: Final = (
    ("cid-version", "1"),
    ("raw-leaves", "true"),
    ("chunker", f"size-{KUBO_RAW_LEAVES.chunk_bytes}"),
    ("pin", "true"),
    ("progress", "false"),
    _BASE32,
)


class IpfsNode:
    """One node."""

    def __init__(self, rpc: KuboRpc) -> None:
        self._rpc = rpc

    async def version(self) -> str:
        """What runs there; asked to see whether it does."""
        return str((await self._rpc.answer("version")).get("Version"))

    # --- content

    async def block(self, cid: Cid) -> bytes:
        """The block of that name, checked.

        Raises:
            NotFound: the node does not find it in time.
            HashMismatch: it sent another one.
            LimitExceeded: larger than blocks are.
        """
        data = bytearray()
        async with aclosing(self._rpc.body("block/get", self._look_for(cid))) as pieces:
            async for piece in pieces:
                data += piece
                if len(data) > IPFS_BLOCK_BYTES_MAX:
                    raise LimitExceeded(f"{cid} is larger than blocks are", expected=IPFS_BLOCK_BYTES_MAX)
        cid.check(data)
        return bytes(data)

    async def cat(self, cid: Cid, start: int, length: int) -> AsyncGenerator[bytes, None]:
        """``length`` bytes of a file from ``start`` on, unchecked but for their number.

        Raises:
            NotFound: the node does not find it in time.
            TransientStorageError: it broke off.
        """
        window = (("offset", str(start)), ("length", str(length)))
        left = length
        if left == 0:
            return
        async with aclosing(self._rpc.body("cat", (*self._look_for(cid), *window))) as pieces:
            async for piece in pieces:
                left -= len(piece)
                if left < 0:
                    raise ProtocolViolation(f"the IPFS node sent more of {cid} than was asked for", expected=length)
                yield piece
        if left:
            raise TransientStorageError(
                f"the IPFS node broke off in {cid}", expected=f"{length} bytes", found=f"{length - left} bytes"
            )

    async def add(self, pieces: AsyncIterator[bytes]) -> Cid:
        """Store and pin a file; the CID is the node's word.

        Raises:
            Exception: whatever ``pieces`` raises.
        """
        found = None
        async for line in self._rpc.lines("add", _ADD, upload=Upload("object", pieces)):
            found = line
        return _cid_in({} if found is None else found, "Hash", "add")

    async def import_car(self, pieces: AsyncIterator[bytes], *, roots: Sequence[Cid]) -> None:
        """Store the blocks of a CAR and pin its ``roots`` with everything below.

        Raises:
            HashMismatch: the node speaks of another root.
            NotFound: blocks below a root are neither in the CAR nor at the node.
            TransientStorageError: the answer ends without naming the roots.
        """
        options = (("pin-roots", "true"), ("stats", "true"), _BASE32)
        lines = self._rpc.lines("dag/import", options, upload=Upload("tree.car", pieces))
        found = {_cid_in(_in(_in(line, "Root"), "Cid"), "/", "dag/import") async for line in lines if "Root" in line}
        if not found:
            raise TransientStorageError("the IPFS node ended an import without a word", expected=roots[0])
        if found != set(roots):
            other = ", ".join(map(str, found.symmetric_difference(roots)))
            raise HashMismatch("the IPFS node imported other roots", expected=f"{len(roots)} roots", found=other[:200])

    # --- pins

    async def pin(self, cid: Cid) -> None:
        """Keep everything under ``cid``; fetched from others when it is not there."""
        await self._rpc.answer("pin/add", (("arg", str(cid)), _BASE32), works=True)

    async def unpin(self, cid: Cid) -> None:
        """Keep it no longer; what is not pinned is no error."""
        try:
            await self._rpc.answer("pin/rm", (("arg", str(cid)), _BASE32), works=True)
        except OdfError as error:
            if "not pinned" not in error.message:
                raise

    async def has_pinned(self, cid: Cid) -> bool:
        """Whether ``cid`` is kept with everything below."""
        arguments = (("arg", str(cid)), ("type", "recursive"), _BASE32)
        try:
            await self._rpc.answer("pin/ls", arguments)
        except OdfError as error:
            if isinstance(error, NotFound) or "not pinned" in error.message:
                return False
            raise
        return True

    async def pin_remotely(self, service: str, cid: Cid, name: str) -> None:
        """Ask a pinning service that the node knows to keep ``cid``; returns before it has.

        Raises:
            UnsupportedOperation: the node has no pinning services (js-ipfs).
        """
        arguments = (("arg", str(cid)), ("service", service), ("name", name), ("background", "true"), _BASE32)
        await self._rpc.answer("pin/remote/add", arguments)

    async def unpin_remotely(self, service: str, cid: Cid) -> None:
        """Ask it to keep ``cid`` no longer; what it does not keep is no error."""
        statuses = tuple(("status", status) for status in ("queued", "pinning", "pinned", "failed"))
        arguments = (("service", service), ("cid", str(cid)), ("force", "true"), *statuses, _BASE32)
        async for _ in self._rpc.lines("pin/remote/rm", arguments):
            pass

    # --- names

    async def name_of_key(self, key: str) -> str:
        """The IPNS name that the node signs with the key called ``key``; the key is made if there is none."""
        listed = (await self._rpc.answer("key/list", (("ipns-base", "base36"),))).get("Keys")
        keys = listed if isinstance(listed, list) else []
        known: Line = next((each for each in keys if isinstance(each, dict) and each.get("Name") == key), {})
        if not known:
            arguments = (("arg", key), ("type", "ed25519"), ("ipns-base", "base36"))
            known = await self._rpc.answer("key/gen", arguments)
        return _text_in(known, "Id", "key/gen")

    async def publish(self, key: str, root: Cid, *, lifetime_s: int) -> None:
        """Let the name of ``key`` lead to ``root``; on the public network this takes minutes."""
        arguments = (
            ("arg", f"/ipfs/{root}"),
            ("key", key),
            ("lifetime", f"{lifetime_s}s"),
            ("allow-offline", "true"),
            ("resolve", "false"),
            ("ipns-base", "base36"),
        )
        await self._rpc.answer("name/publish", arguments, works=True)

    async def resolve(self, name: str) -> str:
        """The path that an IPNS name or a DNSLink leads to, as the node says.

        Raises:
            NotFound: it leads nowhere.
        """
        arguments = (("arg", name), ("recursive", "true"), self._timeout())
        return _text_in(await self._rpc.answer("name/resolve", arguments), "Path", "name/resolve")

    async def record(self, name: str) -> bytes:
        """The newest signed record of an IPNS name that the node finds, not checked.

        Raises:
            NotFound: there is none.
            UnsupportedOperation: the node gives out no records (js-ipfs).
        """
        found = None
        async for line in self._rpc.lines("routing/get", (("arg", f"/ipns/{name}"), self._timeout())):
            if line.get("Type") == _VALUE:
                found = _text_in(line, "Extra", "routing/get")
        if found is None:
            raise NotFound(f"the IPFS node finds no record of {name}")
        try:
            return base64.b64decode(found, validate=True)
        except ValueError:
            raise ProtocolViolation("routing/get: the answer of the IPFS node is no base64") from None

    def _look_for(self, cid: Cid) -> tuple[tuple[str, str], ...]:
        return (("arg", str(cid)), self._timeout())

    def _timeout(self) -> tuple[str, str]:
        # Below our own patience, so that the node says what is wrong before we hang up.
        return ("timeout", f"{max(1, int(self._rpc.silence_s * 0.8))}s")


def _cid_in(line: Line, field: str, command: str) -> Cid:
    return Cid.from_text(_text_in(line, field, command))


def _text_in(line: Line, field: str, command: str) -> str:
    text = line.get(field)
    if not isinstance(text, str):
        raise ProtocolViolation(f"{command}: the answer of the IPFS node has no {field!r}", found=repr(line)[:200])
    return text


def _in(line: Line, field: str) -> Line:
    inner = line.get(field)
    return inner if isinstance(inner, dict) else {}
