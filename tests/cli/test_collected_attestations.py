"""What several servers have signed about one dataset is brought together, and counted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, nullcontext
from pathlib import Path

import pytest

from catalog.attestations import KeptAttestation
from cli.attestations import Trust, collect, judged, listed
from opendatafabric.errors import InvalidSignature
from opendatafabric.instant import Instant
from repo_server.config import Tenancy
from tests.opendatafabric.attestation.signed import key, signed
from tests.repo_server.hosted import Hosted, a_chain, hosted
from tests.storage.chains import dataset_id

CHAIN = a_chain(1)


@pytest.fixture
async def servers(tmp_path: Path) -> AsyncIterator[list[Hosted]]:
    """Two of them with the same dataset, each with a verdict of its own on it."""
    async with AsyncExitStack() as stack:
        found = []
        for number in (1, 2):
            (tmp_path / str(number)).mkdir()
            server = await stack.enter_async_context(hosted(tmp_path / str(number), Tenancy.MULTI, run_worker=False))
            await server.add("open", CHAIN)
            await keep(server, number)
            found.append(server)
        yield found


async def keep(server: Hosted, signer: int, *, claimed: int | None = None, about: int = 1) -> None:
    envelope = signed(signer, dataset_id=dataset_id(about), head=CHAIN.head)
    did = key(claimed or signer).public.did
    kept = KeptAttestation(dataset_id(1), CHAIN.head, did, "valid", float(signer), envelope.as_json())
    await server.catalog.attestations.put(kept)


def address(server: Hosted) -> str:
    return f"{server.url}{server.path('open')}"


def place_of(server: Hosted) -> str:
    return str(server.settings.repo)


async def collected(servers: list[Hosted]) -> list[tuple[str, int]]:
    here, *others = servers
    return [each async for each in collect("alice/open", list(map(address, others)), place_of(here))]


async def test_verdicts_of_others_are_kept_beside_our_own_and_counted(servers: list[Hosted], tmp_path: Path) -> None:
    assert await collected(servers) == [(address(servers[1]), 1)]
    assert await collected(servers) == [(address(servers[1]), 0)]
    kept = await servers[0].catalog.attestations.list(dataset_id(1))
    assert {(each.signer, each.source) for each in kept} == {
        (key(1).public.did, None),
        (key(2).public.did, servers[1].url),
    }
    told = await listed(address(servers[0]), ".")
    assert len(told["attestations"]) == 2


async def test_what_the_named_key_has_not_signed_is_not_kept(servers: list[Hosted]) -> None:
    await keep(servers[1], 3, claimed=1)
    with pytest.raises(InvalidSignature):
        await collected(servers)
    assert len(await servers[0].catalog.attestations.list(dataset_id(1))) == 1


async def test_verdicts_on_other_datasets_are_not_kept(servers: list[Hosted]) -> None:
    await keep(servers[1], 3, about=7)
    assert await collected(servers) == [(address(servers[1]), 1)]
    assert await servers[0].catalog.attestations.list(dataset_id(7)) == []


@pytest.mark.parametrize(("year", "counts"), [(2000, False), (2999, True)])
async def test_the_keys_that_a_server_publishes_count_from_when_it_does(
    servers: list[Hosted], tmp_path: Path, year: int, counts: bool
) -> None:
    server, file = servers[0], tmp_path / "verdict.json"
    file.write_bytes(signed(1, verified_at=Instant(year, 1, 0)).as_json())
    await server.catalog.attestation_keys.publish(key(1).public.did)
    with nullcontext() if counts else pytest.raises(InvalidSignature):
        judgement = await judged([str(file)], Trust([], [server.url], 1), None, ".")
        assert judgement.agreed.signers == (key(1).public,)
