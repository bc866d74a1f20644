"""``/attestations`` of a dataset and the keys of the node: for whoever may read, and for everybody."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from catalog.attestations import KeptAttestation
from catalog.visibility import Visibility
from opendatafabric.attestation.document import KEYS_PATH, read_key_document
from opendatafabric.multihash import physical_hash
from repo_server.config import Tenancy
from tests.opendatafabric.attestation.signed import HEAD, OLDER_HEAD, key, signed
from tests.repo_server.hosted import Answer, Hosted, a_chain, hosted
from tests.storage.chains import dataset_id
from verify.attestation.node_key import node_key, rotate_node_key

pytestmark = pytest.mark.slow


@pytest.fixture
async def server(tmp_path: Path, tenancy: Tenancy) -> AsyncIterator[Hosted]:
    """With a public dataset that was attested twice, and a private one."""
    async with hosted(tmp_path, tenancy, run_worker=False) as running:
        await running.add("open", a_chain(1))
        await running.add("secret", a_chain(2), Visibility.PRIVATE)
        await running.catalog.attestations.put(kept(OLDER_HEAD, 1.0))
        await running.catalog.attestations.put(kept(HEAD, 2.0))
        yield running


def kept(head: Any, at: float) -> KeptAttestation:
    envelope = signed(head=head).as_json()
    return KeptAttestation(dataset_id(1), head, key().public.did, "valid", at, envelope)


async def get(server: Hosted, *, name: str = "open", who: str | None = None, query: str = "") -> Answer:
    return await server.ask("GET", f"{server.path(name)}/attestations{query}", who=who)


async def test_whoever_may_read_a_dataset_reads_what_was_signed_about_it(server: Hosted) -> None:
    told = orjson.loads((await get(server)).body)["attestations"]
    assert [(each["head"], each["verdict"], each["signer"], each["source"]) for each in told] == [
        (str(HEAD), "valid", key().public.did, None),
        (str(OLDER_HEAD), "valid", key().public.did, None),
    ]
    assert told[0]["verifiedAt"] == "1970-01-01T00:00:02Z"
    assert told[0]["envelope"] == signed().as_dict()


async def test_those_of_one_head_are_asked_for(server: Hosted) -> None:
    told = orjson.loads((await get(server, query=f"?head={OLDER_HEAD}")).body)["attestations"]
    assert [each["head"] for each in told] == [str(OLDER_HEAD)]
    assert orjson.loads((await get(server, query=f"?head={physical_hash(b'x')}")).body) == {"attestations": []}
    assert (await get(server, query="?head=nonsense")).status == 400


async def test_a_private_dataset_is_not_admitted_to_exist(server: Hosted) -> None:
    answers = {who: (await get(server, name="secret", who=who)).status for who in (None, "bob", "alice")}
    assert answers == {None: 404, "bob": 404, "alice": 200}


async def test_everybody_reads_the_keys_of_the_node(server: Hosted) -> None:
    path, published = server.settings.attestation_key_path, server.catalog.attestation_keys
    assert orjson.loads((await server.ask("GET", KEYS_PATH)).body) == {"keys": []}
    old = (await node_key(path, published)).public
    new = await rotate_node_key(path, published)
    answer = await server.ask("GET", KEYS_PATH)
    assert [each.key for each in read_key_document(answer.body)] == [new, old]
    assert answer.headers["Cache-Control"] == "public, max-age=300"


@pytest.mark.parametrize("path", ["/.attestation-key", "/.well-known/.attestation-key", "/%2e%2e/.attestation-key"])
async def test_the_secret_is_in_no_place_that_is_served(server: Hosted, path: str) -> None:
    await node_key(server.settings.attestation_key_path, server.catalog.attestation_keys)
    assert server.settings.attestation_key_path.name == ".attestation-key"
    for prefix in ("", server.path("open"), f"{server.path('open')}/data"):
        assert (await server.ask("GET", prefix + path, who="root")).status in {400, 404}
