"""HTTP Message Signatures (RFC 9421) of what we send, over the digest of its body (RFC 9530). Pure: keys, the time and
what is to be used once are given."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from opendatafabric.attestation.keys import SigningKey

EVENT_TYPE: Final = "application/cloudevents+json"
NODE_TAG: Final = "odf-webhook"
SECRET_TAG: Final = "odf-webhook-secret"
_COVERED: Final = ("@method", "@target-uri", "content-digest", "content-type")


@dataclass(frozen=True, slots=True)
class Signer:
    """Something that signs, under a ``label`` of its own."""

    label: str
    algorithm: str
    key_id: str
    tag: str
    sign: Callable[[bytes], bytes] = field(repr=False)


def signer_of_node(key: SigningKey) -> Signer:
    """With the key of the node, which everybody may look up."""
    return Signer("node", "ed25519", key.public.did, NODE_TAG, key.sign)


def signer_of_secret(secret: str, webhook_id: str) -> Signer:
    """With a secret that the receiver shares."""

    def sign(message: bytes) -> bytes:
        return hmac.digest(secret.encode(), message, hashlib.sha256)

    return Signer("secret", "hmac-sha256", webhook_id, SECRET_TAG, sign)


def signed_headers(
    target_uri: str, body: bytes, signers: Iterable[Signer], *, created: int, nonce: str
) -> dict[str, str]:
    """The headers of a ``POST`` of an event to ``target_uri``."""
    digest = f"sha-256=:{_base64(hashlib.sha256(body).digest())}:"
    headers = {"Content-Type": EVENT_TYPE, "Content-Digest": digest}
    values = dict(zip(_COVERED, ("POST", target_uri, digest, EVENT_TYPE), strict=True))
    inputs, signatures = [], []
    for signer in signers:
        parameters = _parameters(signer, created, nonce)
        signature = signer.sign(_base(values, parameters).encode())
        inputs.append(f"{signer.label}={parameters}")
        signatures.append(f"{signer.label}=:{_base64(signature)}:")
    if inputs:
        headers |= {"Signature-Input": ", ".join(inputs), "Signature": ", ".join(signatures)}
    return headers


def _base(values: dict[str, str], parameters: str) -> str:
    """What is signed (RFC 9421, 2.5)."""
    return "\n".join([f'"{name}": {value}' for name, value in values.items()] + [f'"@signature-params": {parameters}'])


def _parameters(signer: Signer, created: int, nonce: str) -> str:
    covered = " ".join(f'"{name}"' for name in _COVERED)
    return (
        f'({covered});created={created};keyid="{signer.key_id}";nonce="{nonce}"'
        f';alg="{signer.algorithm}";tag="{signer.tag}"'
    )


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
