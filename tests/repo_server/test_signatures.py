"""A dataset that takes only heads signed by its key: who may put signatures down, and how the key changes hands."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest

from catalog.roles import Role
from opendatafabric.did import DatasetId
from opendatafabric.head_signature import HandOver, HeadSignature
from opendatafabric.instant import Instant
from opendatafabric.multihash import Multihash
from repo_server.config import Tenancy
from storage.head_policy import HeadPolicy, read_policy
from storage.head_signatures import add_signature, read_signatures
from storage.memory import MemoryObjectStore
from storage.repository import Repository
from tests.cli.runner import odf
from tests.repo_server.hosted import Answer, Hosted, a_chain, hosted
from tests.repo_server.test_head_history import head, other_chain, push
from tests.storage.chains import ChainBuilder, dataset_id

pytestmark = pytest.mark.slow

SECRET, OTHER = b"\x07" * 32, b"\x08" * 32
KEY, OTHER_KEY = DatasetId.from_signing_key(SECRET), DatasetId.from_signing_key(OTHER)
AT = Instant.from_rfc3339("2026-01-31T12:00:00Z")


def signed(new_head: Multihash, *, secret: bytes = SECRET, number: int = 1) -> dict[str, str]:
    return HeadSignature.make(dataset_id(number), new_head, AT, secret).as_dict()


async def ask(server: Hosted, method: str, path: str, body: Any, *, who: str = "alice") -> Answer:
    headers = {"Content-Type": "application/json"}
    return await server.ask(method, server.path("open") + path, who=who, data=orjson.dumps(body), headers=headers)


async def put(server: Hosted, body: dict[str, str], *, who: str = "alice") -> int:
    return (await ask(server, "PUT", f"/signatures/{body['head']}", body, who=who)).status


def longer(text: str = "more") -> ChainBuilder:
    found = a_chain()
    found.info(text)
    return found


async def test_a_head_counts_once_its_key_has_signed_it(server: Hosted, chain: ChainBuilder) -> None:
    answer = await ask(server, "PUT", "/policy", {"signedBy": KEY.did_key})
    assert orjson.loads(answer.body)["signedBy"] == KEY.did_key
    with pytest.raises(Exception, match="not signed by its key"):
        await push(server, longer())
    assert await head(server) == str(chain.head)
    assert await put(server, signed(longer().head)) == 200
    await push(server, longer())
    assert await head(server) == str(longer().head)
    known = orjson.loads((await server.ask("GET", server.path("open") + "/signatures")).body)["signatures"]
    assert known == [signed(longer().head)]


async def test_a_signature_by_others_or_of_others_is_refused(server: Hosted, chain: ChainBuilder) -> None:
    await ask(server, "PUT", "/policy", {"signedBy": KEY.did_key})
    right = signed(longer().head)
    assert await put(server, signed(longer().head, secret=OTHER)) == 400
    assert await put(server, signed(longer().head, number=2)) == 400
    assert await put(server, {**right, "signature": "00" * 64}) == 400
    assert (await ask(server, "PUT", f"/signatures/{chain.head}", right)).status == 400
    assert await put(server, right, who="bob") == 403
    assert await read_signatures((await server.repository.find(dataset_id(1))).dataset.objects) == []


async def test_a_forced_push_and_an_undoing_need_a_signature_too(server: Hosted, chain: ChainBuilder) -> None:
    await ask(server, "PUT", "/policy", {"signedBy": KEY.did_key})
    await put(server, signed(other_chain().head))
    await push(server, other_chain(), force=True)
    headers = {"If-Match": f'"{other_chain().head}"'}
    path = server.path("open") + "/undo"
    assert (await server.ask("POST", path, who="alice", headers=headers)).status == 403
    await put(server, signed(chain.head))
    assert (await server.ask("POST", path, who="alice", headers=headers)).status == 200


async def test_the_key_behind_the_id_of_the_dataset_may_sign(server: Hosted, chain: ChainBuilder) -> None:
    await ask(server, "PUT", "/policy", {"signedBy": str(dataset_id(1))})
    assert await put(server, signed(longer().head, secret=(1).to_bytes(32, "big"))) == 200
    await push(server, longer())


async def test_the_key_hands_over_itself_and_administrators_replace_one_that_is_lost(
    server: Hosted, chain: ChainBuilder
) -> None:
    await server.catalog.roles.grant(dataset_id(1), server.accounts["bob"], Role.MAINTAINER)
    await ask(server, "PUT", "/policy", {"signedBy": KEY.did_key}, who="bob")
    for body in ({}, {"signedBy": OTHER_KEY.did_key}):
        assert (await ask(server, "PUT", "/policy", body, who="bob")).status == 403
    kept = {"signedBy": KEY.did_key, "appendOnly": True}
    assert (await ask(server, "PUT", "/policy", kept, who="bob")).status == 200
    stolen = HandOver.make(dataset_id(1), KEY, AT, OTHER).as_dict()
    assert (await ask(server, "POST", "/policy/hand-over", stolen, who="bob")).status == 403
    handed = HandOver.make(dataset_id(1), OTHER_KEY, AT, SECRET).as_dict()
    answer = await ask(server, "POST", "/policy/hand-over", handed, who="bob")
    assert orjson.loads(answer.body) == {"appendOnly": True, "allowForce": True, "signedBy": OTHER_KEY.did_key}
    assert (await ask(server, "POST", "/policy/hand-over", handed, who="bob")).status == 403
    assert (await ask(server, "PUT", "/policy", {}, who="root")).status == 200
    policy = await read_policy((await server.repository.find(dataset_id(1))).dataset.objects)
    assert policy == HeadPolicy()


async def test_signatures_that_are_added_at_once_are_all_kept() -> None:
    objects = MemoryObjectStore()
    several = [HeadSignature.make(dataset_id(1), a_chain(number).head, AT, SECRET) for number in range(1, 5)]
    await asyncio.gather(*(add_signature(objects, each) for each in several))
    assert set(await read_signatures(objects)) == set(several)


async def test_a_push_signs_before_it_sends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    key, other = tmp_path / "key", tmp_path / "other"
    key.write_text(SECRET.hex() + "\n")
    other.write_bytes(OTHER)

    async def run(*words: object) -> Any:
        ran = await asyncio.to_thread(odf, *words)
        return ran.code

    async with hosted(tmp_path, Tenancy.MULTI) as server:
        local = tmp_path / "local"
        await run("init", local)
        await server.add("open", a_chain())
        await run("login", server.url, "--access-token", server.tokens["alice"])
        remote = f"odf+{server.url}/alice/open"
        assert await run("pull", remote, "--as", "open", "--repo", local) == 0
        assert await run("policy", "alice/open", "--signed-by", key, "--repo", server.url) == 0
        dataset = (await Repository.open(local).find(dataset_id(1))).dataset
        await dataset.append(longer().blocks[-1:], expected_head=a_chain().head)
        assert await run("push", "open", "--to", remote, "--repo", local) == 6
        assert await run("push", "open", "--to", remote, "--repo", local, "--sign", other) != 0
        assert await run("push", "open", "--to", remote, "--repo", local, "--sign", key) == 0
        assert await head(server) == str(longer().head)
        assert await run("push", "open", "--to", f"odf+{server.url}/alice/new", "--repo", local, "--sign", key) != 0
        assert await run("sign", "open", "--key", key, "--repo", local) == 0
        assert await run("sign", "alice/open", "--key", key, "--hand-over", other, "--repo", server.url) == 0
        assert await run("sign", "alice/open", "--key", key, "--repo", server.url) == 3
        assert await run("sign", "alice/open", "--key", other, "--repo", server.url) == 0
        assert await run("sign", "open", "--key", tmp_path / "absent", "--repo", local) == 7
