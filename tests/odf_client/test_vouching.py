"""Signed verdicts on a dataset count if they are about its head and by keys that are trusted."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

import odf_client
from catalog.attestations import KeptAttestation
from odf_client import Cache
from opendatafabric.attestation.statement import attest, verification_in
from opendatafabric.attestation.verdict import Verdict
from opendatafabric.did import DatasetId
from opendatafabric.errors import InvalidSignature, UnsupportedOperation
from opendatafabric.instant import Instant
from opendatafabric.multihash import Multihash
from tests.odf_client.conftest import Cities
from tests.opendatafabric.attestation.signed import OLDER_HEAD, key, signed
from tests.source_tree import ROOT
from verify.attestation.node_key import node_key

pytestmark = pytest.mark.slow

FIRST, SECOND = (key(number).public.did for number in (1, 2))


@pytest.fixture
def dataset(own: Cities, cache: Cache) -> odf_client.Dataset:
    return odf_client.open(own.url, cache=cache)


def attested(cities: Cities, dataset: odf_client.Dataset, number: int = 1, head: Any = None, **changes: Any) -> None:
    """The server has a verdict by that key."""
    dataset_id, head = DatasetId.from_text(dataset.id), head or Multihash.from_text(dataset.head)
    envelope = signed(number, dataset_id=dataset_id, head=head, **changes).as_json()
    kept = KeptAttestation(dataset_id, head, key(number).public.did, "valid", 1.0, envelope)
    cities.beside.run(cities.server.catalog.attestations.put(kept))


def test_a_verdict_by_a_trusted_key_counts(own: Cities, dataset: odf_client.Dataset) -> None:
    attested(own, dataset)
    found = dataset.verify_attestation(trust=[FIRST])
    assert (found.verdict, found.head, found.signers) == ("valid", dataset.head, (FIRST,))


def test_a_verdict_may_be_bad(own: Cities, dataset: odf_client.Dataset) -> None:
    attested(own, dataset, verdict=Verdict.INVALID)
    assert dataset.verify_attestation(trust=[FIRST]).verdict == "invalid"


def test_several_keys_may_have_to_agree(own: Cities, dataset: odf_client.Dataset) -> None:
    attested(own, dataset)
    with pytest.raises(InvalidSignature):
        dataset.verify_attestation(trust=[FIRST, SECOND], require=2)
    attested(own, dataset, 2)
    assert dataset.verify_attestation(trust=[FIRST, SECOND], require=2).signers == tuple(sorted((FIRST, SECOND)))


def test_keys_that_nobody_trusts_do_not_count(own: Cities, dataset: odf_client.Dataset) -> None:
    attested(own, dataset)
    for trust in ([SECOND], []):
        with pytest.raises(InvalidSignature):
            dataset.verify_attestation(trust=trust)


def test_without_a_key_the_server_is_believed(own: Cities, dataset: odf_client.Dataset) -> None:
    server, now = own.server, Instant.from_datetime(datetime.now(UTC))
    node = own.beside.run(node_key(server.settings.attestation_key_path, server.catalog.attestation_keys))
    dataset_id, head = DatasetId.from_text(dataset.id), Multihash.from_text(dataset.head)
    said = verification_in(signed(dataset_id=dataset_id, head=head, verified_at=now))
    kept = KeptAttestation(dataset_id, head, node.public.did, "valid", 1.0, attest(said, node).as_json())
    own.beside.run(server.catalog.attestations.put(kept))
    for trust in ([], [server.url], [node.public.did]):
        assert dataset.verify_attestation(trust=trust).signers == (node.public.did,)


def test_what_was_said_of_another_head_does_not_count(own: Cities, dataset: odf_client.Dataset) -> None:
    attested(own, dataset, head=OLDER_HEAD)
    with pytest.raises(InvalidSignature, match="nobody has signed"):
        dataset.verify_attestation(trust=[FIRST])


def test_folders_have_no_attestations() -> None:
    with pytest.raises(UnsupportedOperation):
        odf_client.open(ROOT / "examples" / "datasets" / "us.faa.airports").verify_attestation()
