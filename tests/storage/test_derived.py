"""A near store before a distant one, and the seal of what they keep."""

from __future__ import annotations

from storage.derived import NearDerivedStore, seal, unsealed
from storage.memory import MemoryDerivedStore

KIB = 1_024


async def test_what_was_used_is_near_and_what_is_kept_lies_in_both() -> None:
    near, distant = MemoryDerivedStore(bytes_max=KIB), MemoryDerivedStore(bytes_max=KIB)
    store = NearDerivedStore(near, distant)
    await distant.keep("a", b"far")
    assert await store.read("a") == await near.read("a") == b"far"
    await store.keep("b", b"new")
    assert await near.read("b") == await distant.read("b") == b"new"


def test_a_seal_belongs_to_its_name_and_its_bytes() -> None:
    sealed = seal("a", b"bytes") + b"bytes"
    assert unsealed("a", sealed) == b"bytes"
    assert unsealed("b", sealed) is None
    assert unsealed("a", sealed[:-1]) is None
    assert unsealed("a", b"") is None
