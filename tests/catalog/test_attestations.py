"""Signed verdicts are kept once each, the newest of a dataset; keys are known with their times."""

from __future__ import annotations

from dataclasses import replace

import pytest

from catalog import attestations
from catalog.attestations import KeptAttestation, KeptKey
from catalog.catalog import Catalog
from opendatafabric.multihash import physical_hash
from tests.catalog.conftest import Clock
from tests.storage.chains import dataset_id

HEAD, OTHER_HEAD = physical_hash(b"head"), physical_hash(b"other head")
FIRST = KeptAttestation(dataset_id(1), HEAD, "did:key:z1", "valid", 1_700_000_000.5, b'{"first": 1}')
SECOND = replace(FIRST, head=OTHER_HEAD, verified_at=1_700_000_001.0, envelope=b"{}", source="http://127.0.0.1:1")


async def test_attestations_of_a_dataset_are_listed_the_newest_first(catalog: Catalog) -> None:
    await catalog.attestations.put(FIRST)
    await catalog.attestations.put(SECOND)
    await catalog.attestations.put(replace(FIRST, dataset_id=dataset_id(2), envelope=b"[]"))
    assert await catalog.attestations.list(dataset_id(1)) == [SECOND, FIRST]
    assert await catalog.attestations.list(dataset_id(1), head=HEAD) == [FIRST]
    assert await catalog.attestations.list(dataset_id(1), count_max=1) == [SECOND]
    assert await catalog.attestations.list(dataset_id(3)) == []


async def test_the_same_attestation_is_kept_once(catalog: Catalog) -> None:
    assert await catalog.attestations.put(FIRST)
    assert not await catalog.attestations.put(replace(FIRST, source="http://127.0.0.1:1"))
    assert await catalog.attestations.list(dataset_id(1)) == [FIRST]


async def test_the_oldest_go_when_there_are_too_many(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attestations, "ATTESTATIONS_PER_DATASET_MAX", 3)
    other = replace(FIRST, dataset_id=dataset_id(2), verified_at=0.0, envelope=b"other")
    await catalog.attestations.put(other)
    many = [replace(FIRST, verified_at=float(number), envelope=b"%d" % number) for number in (3, 1, 4, 2, 5)]
    for each in many:
        await catalog.attestations.put(each)
    assert [each.verified_at for each in await catalog.attestations.list(dataset_id(1))] == [5, 4, 3]
    assert await catalog.attestations.list(dataset_id(2)) == [other]


async def test_a_key_is_good_from_when_it_was_first_published_until_it_is_retired(
    catalog: Catalog, clock: Clock
) -> None:
    began = clock.now
    for _ in range(3):
        await catalog.attestation_keys.publish("did:key:z1")
        clock.now += 10
    await catalog.attestation_keys.publish("did:key:z2")
    await catalog.attestation_keys.retire("did:key:z1")
    clock.now += 10
    await catalog.attestation_keys.retire("did:key:z1")
    assert await catalog.attestation_keys.list() == [
        KeptKey("did:key:z2", began + 30, None),
        KeptKey("did:key:z1", began, began + 30),
    ]
