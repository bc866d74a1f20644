"""A run of a CI system gets a token for the datasets that trust it, for a while, once, and for nothing else."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import orjson
import pytest

from catalog.publishers import Trust
from catalog.visibility import Visibility
from opendatafabric.errors import LimitExceeded, MalformedInput
from opendatafabric.names import AccountName
from repo_server.config import Tenancy
from repo_server.handlers.publishers import _trust_in
from tests.repo_server.hosted import Answer, Hosted, a_chain, hosted
from tests.repo_server.oidc.issuer import STRANGER, LocalIssuer, issuing, unsigned
from tests.storage.chains import ChainBuilder

pytestmark = pytest.mark.slow

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
GRANT, JWT = "urn:ietf:params:oauth:grant-type:token-exchange", "urn:ietf:params:oauth:token-type:jwt"
CLAIMS = {"repository": "alice/weather", "ref": "refs/heads/*"}


class World:
    """Alice's datasets ``mine`` and ``other``, bob's private ``bobs``, and a CI system."""

    def __init__(self, server: Hosted, issuer: LocalIssuer, chain: ChainBuilder) -> None:
        self.server, self.issuer, self.chain = server, issuer, chain

    async def trust(self, dataset: str = "/alice/mine", who: str = "alice", **changed: Any) -> Answer:
        body = {"issuer": self.issuer.address, "claims": CLAIMS, **changed}
        headers = {"Content-Type": "application/json"}
        return await self.server.ask("POST", f"{dataset}/publishers", who=who, data=orjson.dumps(body), headers=headers)

    def run(self, **claims: Any) -> str:
        """The token of a run that is trusted unless told otherwise."""
        said = {"aud": self.server.url, "repository": "alice/weather", "ref": "refs/heads/main", "sub": "repo:x"}
        return self.issuer.token(**{**said, "jti": str(time.perf_counter_ns()), **claims})

    async def exchange(self, token: str, **changed: str) -> Answer:
        fields = {"grant_type": GRANT, "subject_token": token, "subject_token_type": JWT, **changed}
        return await self.server.ask("POST", "/platform/token/exchange", data=urlencode(fields).encode(), headers=FORM)

    async def token(self) -> str:
        answer = await self.exchange(self.run())
        assert answer.status == 200, answer.text
        return str(orjson.loads(answer.body)["access_token"])


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with issuing() as issuer, hosted(tmp_path, Tenancy.MULTI, ci_issuers=issuer.address) as server:
        chain = a_chain()
        await server.add("mine", chain, Visibility.PRIVATE)
        await server.add("other", a_chain(2), Visibility.PRIVATE)
        yield World(server, issuer, chain)


async def test_a_run_that_is_trusted_gets_a_token_for_the_dataset_and_no_other(world: World) -> None:
    assert (await world.trust()).status == 201
    answer = await world.exchange(world.run())
    told = orjson.loads(answer.body)
    assert (answer.status, told["expires_in"], told["scope"], told["datasets"]) == (
        200,
        900,
        "datasets:push",
        ["alice/mine"],
    )
    token = told["access_token"]
    entry, *_ = await world.server.catalog.audit.list()
    assert (entry.action, entry.details["account"]) == ("POST /platform/token/exchange", "alice")
    assert (entry.details["run"], entry.details["datasets"]) == ("repo:x", ["alice/mine"])
    ask = world.server.ask
    assert (await ask("GET", "/alice/mine/refs/head", who=token)).status == 200
    assert (await ask("GET", "/alice/other/refs/head", who=token)).status == 404
    assert (await ask("GET", "/alice/mine/publishers", who=token)).status == 403
    begun = await ask("POST", f"/alice/mine/uploads/data/f1620{'0' * 64}", who=token, headers={"Upload-Length": "1"})
    assert begun.status == 201
    begun = await ask("POST", f"/alice/other/uploads/data/f1620{'0' * 64}", who=token, headers={"Upload-Length": "1"})
    assert begun.status == 404


async def test_a_token_of_a_run_is_taken_once(world: World) -> None:
    await world.trust()
    for claims in ({"jti": "one"}, {"jti": None}):
        token = world.run(**claims)
        assert (await world.exchange(token)).status == 200
        assert (await world.exchange(token)).status == 401
    assert (await world.exchange(world.run(jti="one"))).status == 401


async def test_runs_that_are_not_as_the_conditions_say_get_nothing(world: World) -> None:
    await world.trust()
    now = int(time.time())
    refused = {
        "another repository": (world.run(repository="eve/weather"), 403),
        "a repository like it": (world.run(repository="alice/weather2"), 403),
        "a tag": (world.run(ref="refs/tags/v1"), 403),
        "no ref": (world.run(ref=None), 403),
        "another server": (world.run(aud="https://other.example"), 401),
        "no audience": (world.run(aud=None), 401),
        "a stranger's key": (world.issuer.token(STRANGER, aud=world.server.url, **CLAIMS), 401),
        "unsigned": (unsigned({"iss": world.issuer.address, "aud": world.server.url, **CLAIMS}), 401),
        "expired": (world.run(exp=now - 120), 401),
        "good for years": (world.run(exp=now + 10 * 86_400), 401),
        "an issuer that nobody trusts": (world.run(iss="https://169.254.169.254"), 403),
        "no issuer": (world.run(iss=None), 403),
        "no token": ("x", 401),
    }
    found = {name: (await world.exchange(token)).status for name, (token, _) in refused.items()}
    assert found == {name: status for name, (_, status) in refused.items()}


async def test_nobody_is_asked_about_an_issuer_that_no_dataset_trusts(world: World) -> None:
    assert (await world.exchange(world.run())).status == 403
    assert world.issuer.asked == []


async def test_an_exchange_says_what_it_is(world: World) -> None:
    await world.trust()
    for changed in ({"grant_type": "password"}, {"subject_token_type": "urn:x"}):
        assert (await world.exchange(world.run(), **changed)).status == 400


async def test_only_owners_say_whom_they_trust(world: World) -> None:
    assert (await world.trust(who="bob")).status == 404
    made = orjson.loads((await world.trust()).body)
    listed = await world.server.ask("GET", "/alice/mine/publishers", who="alice")
    assert orjson.loads(listed.body) == {"publishers": [made]}
    assert (made["claims"], made["audience"]) == (CLAIMS, None)
    gone = f"/alice/mine/publishers/{made['id']}"
    assert (await world.server.ask("DELETE", gone, who="bob")).status == 404
    assert (await world.server.ask("DELETE", f"/alice/other/publishers/{made['id']}", who="alice")).status == 404
    assert (await world.server.ask("DELETE", gone, who="alice")).status == 204
    assert (await world.exchange(world.run())).status == 403


@pytest.mark.parametrize(
    "changed",
    [
        {"claims": {}},
        {"claims": {"ref": "refs/heads/main"}},
        {"claims": {"repository": "*"}},
        {"claims": {"repository": "ali*"}},
        {"claims": {"repository": ""}},
        {"claims": {"repository": 7}},
        {"claims": [["repository", "alice/weather"]]},
        {"claims": {"repository": "a/b", **{f"c{number}": "x" for number in range(20)}}},
        {"claims": {"repository": "a/" + "x" * 500}},
        {"issuer": ""},
        {"issuer": 7},
        {"audience": 7},
        {"account_id": "did:odf:x"},
    ],
)
def test_a_trust_of_everybody_or_of_nothing_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises((MalformedInput, LimitExceeded)):
        _trust_in({"issuer": "https://issuer.example", "claims": {"repository": "alice/weather"}, **changed})


async def test_who_lost_the_dataset_lets_nobody_push_to_it(world: World) -> None:
    await world.trust()
    catalog, bob = world.server.catalog, world.server.accounts["bob"]
    await catalog.datasets.set_owner(world.chain.id, bob)
    assert (await world.exchange(world.run())).status == 403
    await catalog.datasets.set_owner(world.chain.id, world.server.accounts["alice"])
    assert (await world.exchange(world.run())).status == 200
    await catalog.accounts.disable(AccountName("alice"))
    assert (await world.exchange(world.run())).status == 403


async def test_one_run_may_be_trusted_by_several_datasets(world: World) -> None:
    await world.trust()
    await world.trust("/alice/other")
    told = orjson.loads((await world.exchange(world.run())).body)
    assert sorted(told["datasets"]) == ["alice/mine", "alice/other"]
    told = orjson.loads((await world.exchange(world.run(), dataset="alice/other")).body)
    assert told["datasets"] == ["alice/other"]
    assert (await world.exchange(world.run(), dataset="alice/none")).status == 403


async def test_datasets_of_several_accounts_are_not_mixed(world: World) -> None:
    await world.trust()
    trust = Trust(world.issuer.address, CLAIMS)
    other = await world.server.repository.find(world.server.alias("other"))
    root = world.server.accounts["root"]
    await world.server.catalog.publishers.add(other.id, root.id, trust)
    assert (await world.exchange(world.run())).status == 403
    assert (await world.exchange(world.run(), dataset="alice/mine")).status == 200


async def test_an_audience_of_ones_own_may_be_agreed_on(world: World) -> None:
    await world.trust(audience="my-own")
    assert (await world.exchange(world.run())).status == 401
    assert (await world.exchange(world.run(aud="my-own"))).status == 200
    assert (await world.exchange(world.run(aud=["my-own"]))).status == 200
