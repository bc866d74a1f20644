"""IPNS: names that are public keys, and the signed records that say what a name points to (IPNS specification, V2).

A name is an ed25519 key like a DatasetId, only written otherwise. Records are signed and checked here; who keeps the
key, and what time it is, the caller says.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from cryptography.exceptions import InvalidSignature as SignatureDoesNotFit
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from opendatafabric.errors import InvalidSignature, LimitExceeded, MalformedDag, MalformedIdentifier, MalformedInput
from opendatafabric.instant import Instant
from opendatafabric.ipfs.cid import Cid, Codec, HashFunction
from opendatafabric.ipfs.dag_cbor import Value, decode_dag_cbor, encode_dag_cbor
from opendatafabric.ipfs.protobuf import as_bytes, bytes_field, read_fields
from opendatafabric.limits import IPNS_RECORD_BYTES_MAX
from opendatafabric.multibase import CID_BASES, decode_multibase, encode_base58btc

SIGNATURE_PREFIX: Final = b"ipns-signature:"
_KEY_PREFIX: Final = b"\x08\x01\x12\x20"
"""libp2p's protobuf around an ed25519 key: type 1, then 32 bytes."""
_KEY_BYTES: Final = 32
_SIGNATURE_V2, _DATA = 8, 9
_V1_FIELDS: Final = {1: "Value", 3: "ValidityType", 4: "Validity", 5: "Sequence", 6: "TTL"}
_END_OF_LIFE: Final = 0


@dataclass(frozen=True, slots=True, order=True)
class IpnsName:
    """An ed25519 public key of 32 bytes."""

    public_key: bytes

    @classmethod
    def from_text(cls, text: str) -> IpnsName:
        """Read ``k51…``, ``bafzaa…``, ``12D3…`` or the same in another base of CIDs.

        Raises:
            MalformedIdentifier: no such name, or a key of another kind.
        """
        if text.startswith("12D3"):
            return cls._from_multihash(decode_multibase("z" + text, CID_BASES))
        cid = Cid.from_text(text)
        if cid.codec is not Codec.LIBP2P_KEY or cid.function is not HashFunction.IDENTITY:
            raise _no_name(text)
        return cls._from_key(cid.digest, text)

    @classmethod
    def from_signing_key(cls, secret: bytes) -> IpnsName:
        """The name of the private key ``secret`` (32 bytes)."""
        return cls(Ed25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw())

    @classmethod
    def _from_multihash(cls, data: bytes) -> IpnsName:
        if data[:2] != bytes([HashFunction.IDENTITY, len(_KEY_PREFIX) + _KEY_BYTES]):
            raise _no_name("12D3…")
        return cls._from_key(data[2:], "12D3…")

    @classmethod
    def _from_key(cls, key: bytes, text: str) -> IpnsName:
        if len(key) != len(_KEY_PREFIX) + _KEY_BYTES or not key.startswith(_KEY_PREFIX):
            raise _no_name(text)
        return cls(key[len(_KEY_PREFIX) :])

    @property
    def cid(self) -> Cid:
        """The name as a CID."""
        return Cid(Codec.LIBP2P_KEY, HashFunction.IDENTITY, _KEY_PREFIX + self.public_key)

    @property
    def text(self) -> str:
        """Canonical: ``k51…``."""
        return self.cid.base36

    @property
    def peer_id(self) -> str:
        """The old form ``12D3…``, which is also how peers are named."""
        return encode_base58btc(bytes(self.cid)[2:])[1:]

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class IpnsRecord:
    """What a name points to; ``value`` is a path such as ``/ipfs/bafy…``, good until ``valid_until``."""

    value: str
    sequence: int
    valid_until: Instant
    ttl_ns: int
    """How long others may keep the record before asking again."""

    def is_good_at(self, now: datetime) -> bool:
        """Whether the record has not ended at ``now`` (aware)."""
        return Instant.from_datetime(now) <= self.valid_until


def sign_record(record: IpnsRecord, secret: bytes) -> bytes:
    """The signed form; ``secret`` is the private key (32 bytes) behind the name."""
    data = encode_dag_cbor(
        {
            "Sequence": record.sequence,
            "TTL": record.ttl_ns,
            "Validity": str(record.valid_until).encode(),
            "ValidityType": _END_OF_LIFE,
            "Value": record.value.encode(),
        }
    )
    signature = Ed25519PrivateKey.from_private_bytes(secret).sign(SIGNATURE_PREFIX + data)
    return bytes_field(_SIGNATURE_V2, signature) + bytes_field(_DATA, data)


def verify_record(name: IpnsName, signed: bytes, *, now: datetime | None) -> IpnsRecord:
    """The record in ``signed``, proved to be of ``name`` and, unless ``now`` is ``None``, not to have ended.

    Raises:
        InvalidSignature: signed by another key, or ended.
        MalformedDag: no IPNS record of version 2.
        LimitExceeded: too large.
    """
    if len(signed) > IPNS_RECORD_BYTES_MAX:
        raise LimitExceeded("an IPNS record is too large", expected=IPNS_RECORD_BYTES_MAX, found=len(signed))
    fields = dict(read_fields(signed))
    if _SIGNATURE_V2 not in fields or _DATA not in fields:
        raise MalformedDag("an IPNS record has no signature of version 2", hint="let it be published again")
    data = as_bytes(fields[_DATA])
    _check_signature(name, as_bytes(fields[_SIGNATURE_V2]), data)
    values = _values(data)
    _check_old_fields(fields, values)
    record = _record(values)
    if now is not None and not record.is_good_at(now.astimezone(UTC)):
        raise InvalidSignature(f"the record of {name} ended", expected=f"after {now}", found=record.valid_until)
    return record


def _check_signature(name: IpnsName, signature: bytes, data: bytes) -> None:
    try:
        Ed25519PublicKey.from_public_bytes(name.public_key).verify(signature, SIGNATURE_PREFIX + data)
    except (SignatureDoesNotFit, ValueError):
        raise InvalidSignature(f"a record is not signed by the key of {name}") from None


def _values(data: bytes) -> dict[str, Value]:
    values = decode_dag_cbor(data)
    if not isinstance(values, dict):
        raise MalformedDag("an IPNS record holds no map")
    return values


def _check_old_fields(fields: dict[int, int | bytes], values: dict[str, Value]) -> None:
    # Version 1 repeats the fields outside the signature: they must not say anything else.
    for number, key in _V1_FIELDS.items():
        if number in fields and fields[number] != values.get(key):
            raise MalformedDag(f"an IPNS record says two things of {key}", found=fields[number])


def _record(values: dict[str, Value]) -> IpnsRecord:
    if _number(values, "ValidityType") != _END_OF_LIFE:
        raise MalformedDag("an IPNS record is valid in an unknown way", expected=_END_OF_LIFE)
    try:
        value, validity = _bytes(values, "Value").decode(), _bytes(values, "Validity").decode()
        valid_until = Instant.from_rfc3339(validity)
    except (UnicodeDecodeError, MalformedInput) as error:
        raise MalformedDag(f"an IPNS record cannot be read: {error}") from None
    return IpnsRecord(value, _number(values, "Sequence"), valid_until, _number(values, "TTL"))


def _number(values: dict[str, Value], key: str) -> int:
    value = values.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise MalformedDag(f"field {key} of an IPNS record is missing or no number")
    return value


def _bytes(values: dict[str, Value], key: str) -> bytes:
    value = values.get(key)
    if not isinstance(value, bytes):
        raise MalformedDag(f"field {key} of an IPNS record is missing or no bytes")
    return value


def _no_name(text: str) -> MalformedIdentifier:
    return MalformedIdentifier(f"{text[:100]!r} is no IPNS name", expected="k51… or 12D3…, an ed25519 key")
