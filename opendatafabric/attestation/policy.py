"""Whose word counts: signed verdicts, the keys that are trusted, and how many of them must agree.

Each key has one vote on a head: what it said last. Signatures of other keys are passed over, whatever they claim.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from opendatafabric.attestation.document import TrustedKey
from opendatafabric.attestation.dsse import Envelope
from opendatafabric.attestation.keys import PublicKey
from opendatafabric.attestation.statement import Verification, verification_in
from opendatafabric.attestation.verdict import Verdict
from opendatafabric.did import DatasetId
from opendatafabric.errors import InvalidSignature, MalformedInput
from opendatafabric.instant import Instant
from opendatafabric.multihash import Multihash


@dataclass(frozen=True, slots=True)
class Agreement:
    """The keys that say this verdict of this head, and when the last of them did."""

    head: Multihash
    verdict: Verdict
    signers: tuple[PublicKey, ...]
    verified_at: Instant


@dataclass(frozen=True, slots=True)
class Judgement:
    """What enough keys agree on, and everything else that was said by keys that are trusted."""

    dataset_id: DatasetId
    agreed: Agreement
    others: tuple[Agreement, ...]


def judge(envelopes: Iterable[Envelope], trusted: Sequence[TrustedKey], *, require: int = 1) -> Judgement:
    """What at least ``require`` of the keys say; of several such things the one said last.

    Raises:
        MalformedInput: something signed by a trusted key is no statement of ours, or they are about several datasets.
        InvalidSignature: too few of the keys have signed, or they disagree.
    """
    votes = _votes(envelopes, trusted)
    datasets = {verification.dataset_id for verification in votes.values()}
    if len(datasets) > 1:
        raise MalformedInput("the attestations are about several datasets", hint="give those of one at a time")
    agreements = _agreements(votes)
    enough = [agreement for agreement in agreements if len(agreement.signers) >= require]
    if not enough:
        raise _too_few(agreements, require)
    agreed = max(enough, key=lambda agreement: (agreement.verified_at, len(agreement.signers)))
    return Judgement(datasets.pop(), agreed, tuple(each for each in agreements if each is not agreed))


def _votes(
    envelopes: Iterable[Envelope], trusted: Sequence[TrustedKey]
) -> dict[tuple[PublicKey, Multihash], Verification]:
    votes: dict[tuple[PublicKey, Multihash], Verification] = {}
    for envelope in envelopes:
        signers = [each for each in trusted if envelope.is_signed_by(each.key)]
        if not signers:
            continue
        said = verification_in(envelope)
        for signer in signers:
            before = votes.get((signer.key, said.head))
            if signer.counts_at(said.verified_at) and (before is None or before.verified_at <= said.verified_at):
                votes[signer.key, said.head] = said
    return votes


def _agreements(votes: dict[tuple[PublicKey, Multihash], Verification]) -> list[Agreement]:
    sides: defaultdict[tuple[Multihash, Verdict], list[tuple[PublicKey, Instant]]] = defaultdict(list)
    for (key, head), said in votes.items():
        sides[head, said.verdict].append((key, said.verified_at))
    return [
        Agreement(head, verdict, tuple(sorted(key for key, _ in side)), max(at for _, at in side))
        for (head, verdict), side in sides.items()
    ]


def _too_few(agreements: Sequence[Agreement], require: int) -> InvalidSignature:
    most = max((len(agreement.signers) for agreement in agreements), default=0)
    return InvalidSignature(
        "too few of the trusted keys have signed the same verdict on the same head, or at a time when they counted",
        expected=f"{require} signatures",
        found=str(most),
        hint="odf attestation show prints who has signed; --key and --url say whose signatures count",
    )
