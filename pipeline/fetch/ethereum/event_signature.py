"""The signature of an event, as Solidity writes it: what tells its logs, and what their bytes mean."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from Crypto.Hash import keccak
from eth_abi.abi import decode
from eth_abi.exceptions import DecodingError

from opendatafabric.errors import MalformedManifest, MalformedSource, UnsupportedOperation

_EVENT: Final = re.compile(r"\s*(?:event\s+)?([A-Za-z_$][\w$]*)\s*\(([^()]*)\)\s*;?\s*")
_PARAMETER: Final = re.compile(r"\s*([a-z]+[0-9]*)(?:\s+payable)?(\s+indexed)?(?:\s+([A-Za-z_$][\w$]*))?\s*")
_INTEGER: Final = re.compile(r"(u?)int([0-9]+)")
_FIXED_BYTES: Final = re.compile(r"bytes([0-9]+)")
_PLAIN: Final = {"bool": pa.bool_(), "address": pa.binary(20), "bytes": pa.binary(), "string": pa.string()}
_SHORT: Final = {"uint": "uint256", "int": "int256"}
_TOPICS_MAX: Final = 3
_CHARACTERS_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class Parameter:
    """``type`` is the canonical name."""

    name: str
    type: str
    indexed: bool

    @property
    def is_hashed(self) -> bool:
        """Of what has any length, a topic holds the hash only."""
        return self.indexed and self.type in {"bytes", "string"}

    @property
    def arrow(self) -> pa.DataType:
        """Numbers beyond 64 bits are text."""
        if self.is_hashed:
            return pa.binary(32)
        if found := _INTEGER.fullmatch(self.type):
            wide = pa.uint64() if found[1] else pa.int64()
            return wide if int(found[2]) <= 64 else pa.string()
        if found := _FIXED_BYTES.fullmatch(self.type):
            return pa.binary(int(found[1]))
        return _PLAIN[self.type]

    def value(self, decoded: Any) -> Any:
        """As Arrow takes it."""
        if self.type == "address":
            return bytes.fromhex(decoded.removeprefix("0x"))
        return str(decoded) if isinstance(decoded, int) and self.arrow == pa.string() else decoded


@dataclass(frozen=True, slots=True)
class Event:
    """Parameters that are indexed come first, as in the columns."""

    name: str
    selector: bytes
    indexed: tuple[Parameter, ...]
    body: tuple[Parameter, ...]

    @property
    def arrow(self) -> pa.DataType:
        """A struct of the parameters."""
        return pa.struct([pa.field(each.name, each.arrow, False) for each in (*self.indexed, *self.body)])

    def decoded(self, topics: Sequence[bytes], data: bytes) -> dict[str, Any]:
        """The parameters of a log.

        Raises:
            MalformedSource: the log is none of this event.
        """
        if len(topics) != 1 + len(self.indexed):
            raise MalformedSource(
                f"a log has {len(topics)} topics, the event {self.name} {1 + len(self.indexed)}",
                hint="another event has the same parameters, otherwise indexed: filter by address",
            )
        try:
            values = [
                topic if each.is_hashed else decode([each.type], topic)[0]
                for each, topic in zip(self.indexed, topics[1:], strict=True)
            ]
            values += decode([each.type for each in self.body], data)
        except (DecodingError, ValueError, OverflowError) as error:
            raise MalformedSource(f"a log is none of the event {self.name}: {type(error).__name__}") from None
        return {each.name: each.value(value) for each, value in zip((*self.indexed, *self.body), values, strict=True)}


def parse_event(signature: str) -> Event:
    """The event of that signature.

    Raises:
        MalformedManifest: it is none.
        UnsupportedOperation: it has parameters of types that become no columns.
    """
    found = _EVENT.fullmatch(signature) if len(signature) <= _CHARACTERS_MAX else None
    if found is None:
        raise MalformedManifest("the signature of the event is none", expected="Name(type [indexed] name, …)")
    texts = found[2].split(",") if found[2].strip() else []
    parameters = [_parameter(text, index) for index, text in enumerate(texts)]
    indexed = tuple(each for each in parameters if each.indexed)
    if len({each.name for each in parameters}) < len(parameters) or len(indexed) > _TOPICS_MAX:
        raise MalformedManifest("the parameters of the event have equal names, or more than three are indexed")
    selector = keccak.new(digest_bits=256, data=f"{found[1]}({','.join(each.type for each in parameters)})".encode())
    return Event(found[1], selector.digest(), indexed, tuple(each for each in parameters if not each.indexed))


def _parameter(text: str, index: int) -> Parameter:
    found = _PARAMETER.fullmatch(text)
    kind = "" if found is None else _SHORT.get(found[1], found[1])
    if found is None or not _is_known(kind):
        raise UnsupportedOperation(
            f"a parameter '{text.strip()[:100]}' becomes no column", expected="integers, bool, address, bytes or string"
        )
    return Parameter(found[3] or f"arg{index}", kind, bool(found[2]))


def _is_known(kind: str) -> bool:
    if found := _INTEGER.fullmatch(kind):
        return int(found[2]) in range(8, 257, 8)
    if found := _FIXED_BYTES.fullmatch(kind):
        return int(found[1]) in range(1, 33)
    return kind in _PLAIN
