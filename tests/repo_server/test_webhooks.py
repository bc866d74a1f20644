"""``/webhooks`` of accounts and of datasets over HTTP, with a receiver that checks what it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from http_message_signatures import algorithms

from catalog.roles import Role
from catalog.scopes import Scope
from catalog.visibility import Visibility
from opendatafabric.attestation.document import KEYS_PATH, read_key_document
from repo_server.app import running
from repo_server.config import Tenancy
from repo_server.webhooks.message_signatures import NODE_TAG, SECRET_TAG
from tests.repo_server.hosted import Answer, Hosted, a_chain, hosted
from tests.repo_server.webhooks.receiver import PATIENCE_S, Receiver, checked, receiving
from tests.storage.chains import dataset_id

pytestmark = pytest.mark.slow

MINE = "/accounts/me/webhooks"
URL = "https://me:s3cr3t@chat.example.org/hooks/s3cr3t?token=s3cr3t"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Hosted]:
    async with hosted(tmp_path, Tenancy.MULTI, run_worker=False, webhook_private_places=True) as running:
        await running.add("open", a_chain(1))
        yield running


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as found:
        yield found


async def ask(
    server: Hosted, method: str, path: str = MINE, body: Any = None, *, who: str | None = "alice"
) -> tuple[int, Any]:
    answer: Answer = await server.ask(
        method,
        path,
        who=who,
        data=None if body is None else orjson.dumps(body),
        headers={} if body is None else {"Content-Type": "application/json"},
    )
    return answer.status, orjson.loads(answer.body) if answer.body else None


async def made(server: Hosted, url: str, path: str = MINE, *, who: str = "alice", **wanted: Any) -> dict[str, Any]:
    status, told = await ask(server, "POST", path, {"url": url, **wanted}, who=who)
    assert status == 201, told
    return dict(told)


async def happen(server: Hosted, number: int = 1) -> None:
    """The visibility of a dataset changes, and changes back: two events."""
    for visibility in (Visibility.UNLISTED, Visibility.PUBLIC):
        await server.catalog.datasets.set_visibility(dataset_id(number), visibility)


async def test_what_happens_is_told_signed_by_the_key_that_the_server_publishes(
    server: Hosted, receiver: Receiver
) -> None:
    webhook = await made(server, receiver.address, events=["visibility-changed"], secret=True)
    await happen(server)
    first, second = (await receiver.has_heard(2))[:2]
    keys = read_key_document((await server.ask("GET", KEYS_PATH)).body)
    parameters = checked(first, Ed25519PublicKey.from_public_bytes(keys[0].key.raw), tag=NODE_TAG)
    assert parameters["keyid"] == keys[0].key.did
    checked(first, webhook["secret"].encode(), tag=SECRET_TAG, algorithm=algorithms.HMAC_SHA256)
    assert [each.event["data"]["visibility"] for each in (first, second)] == ["unlisted", "public"]
    assert (first.event["source"], first.event["subject"]) == (server.url, "alice/open")


async def test_a_stream_and_a_webhook_tell_the_same(server: Hosted, receiver: Receiver) -> None:
    await made(server, receiver.address)
    async with server.session.get(f"{server.url}/events", headers={"Last-Event-ID": "0"}) as stream:
        await happen(server)
        told = {each.event["id"]: each.event for each in await receiver.has_heard(2)}
        async for line in stream.content:
            if line.startswith(b"data: "):
                event = orjson.loads(line[6:])
                if event["type"].endswith("visibility-changed"):
                    assert told[event["id"]] == event
                    return


async def test_neither_address_nor_secret_is_ever_shown_again(server: Hosted) -> None:
    webhook = await made(server, URL, secret=True)
    one = f"{MINE}/{webhook['id']}"
    shown = [await ask(server, "GET"), await ask(server, "GET", one), await ask(server, "PATCH", one, {"active": True})]
    assert all(status == 200 for status, _ in shown)
    assert "s3cr3t" not in repr(shown) + repr(webhook)
    assert webhook["secret"] not in repr(shown)
    assert (webhook["host"], webhook["signedWithSecret"], webhook["reach"]) == ("chat.example.org", True, "all")


async def test_a_secret_is_made_anew_and_removed(server: Hosted) -> None:
    webhook = await made(server, URL, secret=True)
    one = f"{MINE}/{webhook['id']}"
    _, changed = await ask(server, "PATCH", one, {"secret": True})
    assert changed["secret"] not in {None, webhook["secret"]}
    _, without = await ask(server, "PATCH", one, {"secret": False})
    assert (without["secret"], without["signedWithSecret"]) == (None, False)


async def test_it_is_changed_paused_resumed_and_removed(server: Hosted) -> None:
    one = f"{MINE}/{(await made(server, URL))['id']}"
    change = {"url": "https://example.org/", "events": ["head-moved"], "active": False}
    status, changed = await ask(server, "PATCH", one, change)
    assert (status, changed["host"], changed["events"], changed["state"]) == (
        200,
        "example.org",
        ["head-moved"],
        "paused",
    )
    assert (await ask(server, "PATCH", one, {"active": True}))[1]["state"] == "active"
    assert await ask(server, "DELETE", one) == (204, None)
    assert (await ask(server, "GET", one))[0] == 404


async def test_what_cannot_be_a_webhook_is_refused(server: Hosted) -> None:
    addresses = ("", "x", "ftp://host/", "https://", "https://[x/", "https://host/" + "x" * 2_000)
    bodies: list[Any] = [{"url": each} for each in addresses]
    bodies += [{}, {"url": 5}, {"url": URL, "events": ["nonsense"]}, {"url": URL, "more": 1}]
    assert [(await ask(server, "POST", MINE, body))[0] for body in bodies] == [400] * len(bodies)
    status, told = await ask(server, "POST", "/alice/open/webhooks", {"url": URL, "own": True})
    assert (status, told["code"]) == (400, "malformed-input")


async def test_a_test_is_sent_at_once_and_stands_in_the_log(server: Hosted, receiver: Receiver) -> None:
    one = f"{MINE}/{(await made(server, receiver.address))['id']}"
    receiver.answers = [500]
    status, delivery = await ask(server, "POST", f"{one}/test")
    assert (status, delivery["status"], delivery["taken"], delivery["type"]) == (200, 500, False, "webhook-test")
    assert receiver.heard[0].kind == "webhook-test"
    assert (await ask(server, "GET", f"{one}/deliveries"))[1] == [delivery]
    assert (await ask(server, "GET", one))[1]["state"] == "active"


async def test_an_event_is_sent_again_and_a_test_too(server: Hosted, receiver: Receiver) -> None:
    one = f"{MINE}/{(await made(server, receiver.address, events=['visibility-changed']))['id']}"
    await happen(server)
    await receiver.has_heard(2)
    await ask(server, "POST", f"{one}/test")
    _, log = await ask(server, "GET", f"{one}/deliveries")
    again = [(await ask(server, "POST", f"{one}/deliveries/{each['id']}"))[0] for each in log]
    assert again == [200] * len(log)
    assert receiver.heard[-1].event["id"] == receiver.heard[0].event["id"]
    for number in ("0", "x", "٣", "9" * 30):
        assert (await ask(server, "POST", f"{one}/deliveries/{number}"))[0] == 404


async def test_who_lost_sight_of_a_dataset_hears_no_more_of_it(server: Hosted, receiver: Receiver) -> None:
    await server.add("secret", a_chain(2), Visibility.PRIVATE)
    await server.catalog.roles.grant(dataset_id(2), server.accounts["bob"], Role.MAINTAINER)
    events = ["verdict-changed", "visibility-changed"]
    webhook = await made(server, receiver.address, "/alice/secret/webhooks", who="bob", events=events)
    await made(server, receiver.address, who="bob", events=["visibility-changed"])
    await server.catalog.roles.grant(dataset_id(2), server.accounts["bob"], None)
    await server.catalog.datasets.set_visibility(dataset_id(2), Visibility.UNLISTED)
    await server.catalog.datasets.set_visibility(dataset_id(2), Visibility.PRIVATE)
    await happen(server)
    # That it became unlisted is heard by bob only if it is public again when that is sent.
    (heard,) = {each.event["data"]["datasetId"] for each in await receiver.has_heard(1)}
    assert heard == str(dataset_id(1))
    assert (await ask(server, "GET", f"/alice/secret/webhooks/{webhook['id']}", who="bob"))[0] == 404
    assert (await ask(server, "GET", "/alice/secret/webhooks"))[1][0]["id"] == webhook["id"]


async def test_its_own_datasets_alone_if_that_was_asked_for(server: Hosted, receiver: Receiver) -> None:
    await made(server, receiver.address, who="bob", own=True)
    await made(server, receiver.address + "/alice", own=True, events=["visibility-changed"])
    await happen(server)
    assert all(each.url.endswith("/alice") for each in await receiver.has_heard(2))


async def test_what_is_gone_is_told_to_whom_it_was(server: Hosted, receiver: Receiver) -> None:
    await server.add("secret", a_chain(2), Visibility.PRIVATE)
    await made(server, receiver.address, events=["dataset-gone"])
    await made(server, receiver.address + "/bob", who="bob", events=["dataset-gone"])
    async with asyncio.timeout(PATIENCE_S):
        while (await server.ask("GET", "/alice/secret", who="alice")).status != 200:  # until its chain was read
            pass
    headers = {"If-Match": f'"{a_chain(2).head}"'}
    assert (await server.ask("DELETE", "/alice/secret", who="alice", headers=headers)).status == 200
    assert not (await receiver.has_heard(1))[0].url.endswith("/bob")


async def test_a_token_for_less_makes_none_that_hears_more(server: Hosted) -> None:
    tokens = [await server.bound_token("alice", "alice/elsewhere"), await server.token("alice", Scope.ACCOUNTS_MANAGE)]
    assert [(await ask(server, "POST", MINE, {"url": URL}, who=token))[0] for token in tokens] == [403, 403]


async def test_strangers_go_to_public_places_by_tls_and_administrators_anywhere(
    tmp_path: Path, receiver: Receiver
) -> None:
    async with hosted(tmp_path, Tenancy.MULTI, run_worker=False) as server:
        await server.add("open", a_chain(1))
        assert (await ask(server, "POST", MINE, {"url": receiver.address}))[0] == 400
        inside = await made(server, receiver.address.replace("http://", "https://"))
        _, delivery = await ask(server, "POST", f"{MINE}/{inside['id']}/test")
        assert delivery["failure"] == "its address is not public"
        mine = await made(server, receiver.address, who="root")
        _, delivery = await ask(server, "POST", f"{MINE}/{mine['id']}/test", who="root")
        assert delivery["taken"]
        await server.catalog.accounts.set_admin(server.accounts["alice"].name, is_admin=True)
        await server.catalog.accounts.set_admin(server.accounts["root"].name, is_admin=False)
        _, delivery = await ask(server, "POST", f"{MINE}/{mine['id']}/test", who="root")
        assert delivery["failure"] == "its address is not public"


async def test_another_account_has_no_part_in_it(server: Hosted) -> None:
    one = f"{MINE}/{(await made(server, URL))['id']}"
    for method, path in (("GET", one), ("DELETE", one), ("POST", f"{one}/test"), ("GET", f"{one}/deliveries")):
        assert (await ask(server, method, path, who="bob"))[0] == 404
    assert (await ask(server, "GET", who="bob"))[1] == []


async def test_metrics_count_what_was_told(server: Hosted, receiver: Receiver) -> None:
    await made(server, receiver.address, events=["visibility-changed"])
    await happen(server)
    await receiver.has_heard(2)
    text = (await server.ask("GET", "/metrics", who="root")).text
    assert 'odf_webhooks{state="active"} 1.0' in text
    assert 'odf_webhook_tellings_total{taken="yes"}' in text


@pytest.mark.slow
async def test_one_that_the_server_did_not_tell_is_told_by_the_next(tmp_path: Path, receiver: Receiver) -> None:
    options = {"run_worker": False, "webhook_private_places": True}
    async with hosted(tmp_path, Tenancy.MULTI, run_webhooks=False, **options) as server:
        await server.add("open", a_chain(1))
        await made(server, receiver.address, events=["visibility-changed"])
        await happen(server)
        async with running(server.settings.model_copy(update={"run_webhooks": True})):
            heard = await receiver.has_heard(2)
    assert [each.event["data"]["visibility"] for each in heard] == ["unlisted", "public"]
