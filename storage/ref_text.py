"""What a BlockRef looks like at rest and what its failures say; the same for every store."""

from __future__ import annotations

from typing import Final

from opendatafabric.block_ref import check_block_ref
from opendatafabric.errors import MalformedIdentifier, OdfError, RefConflict
from opendatafabric.multihash import HashCodec, Multihash

REF_BYTES_MAX: Final = 128
"""A hash takes 69 bytes in base16; nothing else the reference reads is longer."""


def is_ref_name(name: str) -> bool:
    """Whether what lies in ``refs/`` is a BlockRef by its name; others are none of ours."""
    try:
        check_block_ref(name)
    except OdfError:
        return False
    return True


def parse_ref(what: str, data: bytes) -> Multihash:
    """The head in the bytes of the ref ``what``.

    Strict as the reference: nothing is trimmed, so a file that an editor ended with a newline is malformed. Stricter in
    one point: base16 must be in lower case. Nobody writes anything else, so another case is a flipped bit.

    Raises:
        MalformedIdentifier: not the text of a sha3-256 hash.
    """
    try:
        head = Multihash.from_text(data.decode("ascii"))
    except (UnicodeDecodeError, MalformedIdentifier):
        raise MalformedIdentifier(
            f"{what} holds no hash of a block",
            expected="f1620 and 64 hex digits, no newline",
            found=repr(data[:REF_BYTES_MAX]),
            hint="run odf fsck; restore the ref from a backup or a mirror",
        ) from None
    if data[:1] in b"fF" and data != str(head).encode():
        raise MalformedIdentifier(f"{what} is not in the form it was written in", expected=head, found=repr(data))
    if head.codec is not HashCodec.SHA3_256:
        raise MalformedIdentifier(f"{what} holds a hash of another kind", expected="sha3-256", found=head)
    return head


def ref_conflict(name: str, expected: Multihash | None, actual: Multihash | None) -> RefConflict:
    """The error of a compare-and-swap that lost."""
    return RefConflict(
        f"{name} does not point where it was believed to",
        expected=expected or "no block",
        found=actual or "no block",
        hint="read the head again and repeat on top of it",
    )
