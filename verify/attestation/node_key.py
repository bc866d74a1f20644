"""The key that a node signs with: a secret in a file of its own, made when it is first needed, and replaced on demand.

Which public keys there were, and when, is kept in the catalog, which the servers and workers of a repository share:
each of them may have a key of its own. See ``document``.
"""

from __future__ import annotations

import asyncio
import secrets
from datetime import UTC, datetime
from pathlib import Path

from catalog.attestations import AttestationKeys
from opendatafabric.attestation.document import TrustedKey
from opendatafabric.attestation.keys import PublicKey, SigningKey
from opendatafabric.instant import Instant
from storage.local.secret_file import SECRET_BYTES, read_or_make_secret, replace_secret


async def node_key(path: Path, published: AttestationKeys) -> SigningKey:
    """The key in ``path``, published before it signs anything; errors as in ``read_or_make_secret``."""
    key = SigningKey(await asyncio.to_thread(read_or_make_secret, path))
    await published.publish(key.public.did)
    return key


async def rotate_node_key(path: Path, published: AttestationKeys) -> PublicKey:
    """Sign with a new key from now on; the old one stays published, with its end. Gives the new one.

    Raises:
        AccessDenied, MalformedInput, StorageError: as ``read_or_make_secret`` and ``replace_secret``.
    """
    old = await node_key(path, published)
    secret = secrets.token_bytes(SECRET_BYTES)
    new = SigningKey(secret).public
    await published.publish(new.did)
    await asyncio.to_thread(replace_secret, path, secret)
    await published.retire(old.public.did)
    return new


async def published_keys(published: AttestationKeys) -> list[TrustedKey]:
    """Every key that the nodes of this repository sign with, or did, the newest first."""
    return [
        TrustedKey(PublicKey.from_did(key.did), _instant(key.valid_from), _instant(key.valid_until))
        for key in await published.list()
    ]


def _instant(seconds: float | None) -> Instant | None:
    return None if seconds is None else Instant.from_datetime(datetime.fromtimestamp(seconds, UTC))
