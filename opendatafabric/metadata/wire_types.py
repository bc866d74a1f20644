"""Markers that tie a field of a metadata type to its form on the wire.

A metadata type is a frozen dataclass; the order of its fields is the order of its slots (a union takes two), a field
that may be ``None`` is optional, and these annotations say what a Python type alone does not: the width of a number.
``codec/tables.py`` compiles the declarations into one row per field. See the FlatBuffers schema of ODF 0.37.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True, slots=True)
class Scalar:
    """A little-endian number: ``format`` as in ``struct``."""

    format: str
    minimum: int
    maximum: int


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A vector of unions: each element sits in a wrapper table of two slots."""


@dataclass(frozen=True, slots=True)
class UnionOf:
    """A union of one member so far: Python's ``A | B`` cannot say that."""

    name: str


U32 = Annotated[int, Scalar("I", 0, 2**32 - 1)]
U64 = Annotated[int, Scalar("Q", 0, 2**64 - 1)]
I32 = Annotated[int, Scalar("i", -(2**31), 2**31 - 1)]
I64 = Annotated[int, Scalar("q", -(2**63), 2**63 - 1)]
