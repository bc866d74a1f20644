"""Signed verdicts as JSON values: for the API and for the command line."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import orjson

from catalog.attestations import KeptAttestation


def plain_attestations(kept: Iterable[KeptAttestation]) -> dict[str, Any]:
    """Envelopes, each with what is in it for those who only look."""
    return {"attestations": [_plain(each) for each in kept]}


def _plain(kept: KeptAttestation) -> dict[str, Any]:
    return {
        "head": str(kept.head),
        "verdict": kept.verdict,
        "signer": kept.signer,
        "verifiedAt": f"{datetime.fromtimestamp(kept.verified_at, UTC):%Y-%m-%dT%H:%M:%SZ}",
        "source": kept.source,
        "envelope": orjson.loads(kept.envelope),
    }
