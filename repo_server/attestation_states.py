"""Signed verdicts as JSON values: for the API and for the command line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from catalog.attestations import KeptAttestation
from repo_server.moments import moment


def plain_attestations(kept: Iterable[KeptAttestation]) -> dict[str, Any]:
    """Envelopes, each with what is in it for those who only look."""
    return {"attestations": [_plain(each) for each in kept]}


def _plain(kept: KeptAttestation) -> dict[str, Any]:
    return {
        "head": str(kept.head),
        "verdict": kept.verdict,
        "signer": kept.signer,
        "verifiedAt": moment(kept.verified_at),
        "source": kept.source,
        "envelope": orjson.loads(kept.envelope),
    }
