"""The envelope of a stored resource: what it is, which version of that, and its bytes."""

from __future__ import annotations

from dataclasses import dataclass

from opendatafabric.metadata.wire_types import I32, I64


@dataclass(frozen=True, slots=True)
class Manifest:
    kind: I64
    version: I32
    content: bytes
