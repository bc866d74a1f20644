"""Signed verdicts as JSON values: for the API and for the command line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson
from typing_extensions import TypedDict

from catalog.attestations import KeptAttestation
from repo_server.moments import moment


class AttestationEntry(TypedDict):
    """A signed verdict; the envelope is what counts, the rest says what is in it."""

    head: str
    verdict: str
    signer: str
    verifiedAt: str
    source: str | None
    envelope: dict[str, Any]


class AttestationList(TypedDict):
    """The signed verdicts on a dataset."""

    attestations: list[AttestationEntry]


def plain_attestations(kept: Iterable[KeptAttestation]) -> AttestationList:
    """Envelopes, each with what is in it for those who only look."""
    return {"attestations": [_plain(each) for each in kept]}


def _plain(kept: KeptAttestation) -> AttestationEntry:
    return {
        "head": str(kept.head),
        "verdict": kept.verdict,
        "signer": kept.signer,
        "verifiedAt": moment(kept.verified_at),
        "source": kept.source,
        "envelope": orjson.loads(kept.envelope),
    }
