"""Numbers of the multicodec table that the format uses, and their names there (spec: Hash Representation)."""

from __future__ import annotations

from enum import IntEnum

from opendatafabric.errors import MalformedIdentifier


class Multicodec(IntEnum):
    """What the bytes behind such a number are; all that the reference knows."""

    CIDV1 = 0x01
    SHA2_256 = 0x12
    SHA3_256 = 0x16
    ED25519_PUB = 0xED
    ARROW0_SHA3_256 = 0x300016
    """Private use: the logical hash of records."""
    ODF_METADATA_BLOCK = 0x400000
    """Private use: a manifest that holds a MetadataBlock."""
    ODF_DATASET_SNAPSHOT = 0x400001
    """Private use, reserved: no such manifest is stored."""

    @property
    def label(self) -> str:
        """The name in the table: ``sha3-256``."""
        return self.name.lower().replace("_", "-")

    @classmethod
    def from_code(cls, code: int) -> Multicodec:
        """Raises ``MalformedIdentifier`` for a number that the format does not use."""
        try:
            return cls(code)
        except ValueError:
            raise MalformedIdentifier(f"multicodec {code:#x} is not supported", hint="sha3-256 is 0x16") from None

    @classmethod
    def from_label(cls, label: str) -> Multicodec:
        """Raises ``MalformedIdentifier`` for a name that the format does not use; case matters."""
        for codec in cls:
            if codec.label == label:
                return codec
        raise MalformedIdentifier(f"multicodec {label[:100]!r} is not supported", hint="names look like sha3-256")
