"""The login of a program through a browser, as the stock client asks for it."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlencode

import orjson
import pytest

from opendatafabric.names import AccountName
from tests.repo_server.browsing import PASSWORD, Browser, browsing
from tests.repo_server.hosted import Answer, Hosted

BEGIN, POLL = "/platform/token/device/authorization", "/platform/token/device"
GRANT = "urn:ietf:params:oauth:grant-type:device_code"
FORM = "application/x-www-form-urlencoded"


@pytest.fixture
async def browser(multi: Hosted) -> AsyncIterator[Browser]:
    await multi.catalog.accounts.set_password(AccountName("alice"), PASSWORD)
    async with browsing(multi.url) as opened:
        yield opened


async def post(server: Hosted, path: str, content_type: str = FORM, **fields: str) -> Answer:
    data = urlencode(fields).encode()
    return await server.ask("POST", path, data=data, headers={"Content-Type": content_type})


async def begin(server: Hosted) -> dict[str, Any]:
    answer = await post(server, BEGIN, client_id="kamu")
    assert answer.status == 200
    return dict(orjson.loads(answer.body))


async def poll(server: Hosted, code: str, **changed: str) -> tuple[int, Any]:
    fields = {"client_id": "kamu", "device_code": code, "grant_type": GRANT, **changed}
    answer = await post(server, POLL, **fields)
    return answer.status, orjson.loads(answer.body)


def refusal(name: str) -> tuple[int, Any]:
    return 400, {"message": name}


async def test_the_client_learns_where_the_api_is(server: Hosted) -> None:
    for path in ("/assets/runtime-config.json", "/ui-config"):
        answer = await server.ask("GET", path)
        assert (answer.status, orjson.loads(answer.body)["apiServerHttpUrl"]) == (200, server.url)


async def test_a_login_begins_as_the_protocol_says(multi: Hosted) -> None:
    told = await begin(multi)
    uuid.UUID(told.pop("device_code"))
    assert told == {
        "user_code": "",
        "verification_uri": f"{multi.url}/v/login",
        "verification_uri_complete": None,
        "expires_in": 300,
        "interval": 5,
    }


async def test_a_program_without_a_name_is_refused(multi: Hosted) -> None:
    assert (await post(multi, BEGIN, client_id="")).status == 400
    assert (await post(multi, BEGIN, client_id="a\nb")).status == 400
    assert (await post(multi, BEGIN)).status == 422
    assert (await post(multi, BEGIN, "application/json", client_id="kamu")).status == 415
    assert (await post(multi, BEGIN, client_id="x" * 20_000)).status == 413
    twice = await multi.ask("POST", BEGIN, data=b"client_id=a&client_id=b", headers={"Content-Type": FORM})
    assert twice.status == 400


async def test_a_person_lets_a_program_in(multi: Hosted, browser: Browser) -> None:
    code = (await begin(multi))["device_code"]
    assert await poll(multi, code) == refusal("authorization_pending")
    assert await poll(multi, code) == refusal("slow_down")
    page = await browser.get(f"/v/login?deviceCode={code}")
    asked = await browser.follow(await browser.submit(page, login="alice", password=PASSWORD))
    for told in ("kamu", "127.0.0.1", "alice", "Allow"):
        assert told in asked.text
    assert "Allowed" in (await browser.submit(asked, decision="allow")).text
    status, told = await poll(multi, code)
    token = told.pop("access_token")
    assert (status, told) == (
        200,
        {"token_type": "Bearer", "expires_in": 30 * 86_400, "refresh_token": None, "score": None},
    )
    assert orjson.loads((await multi.ask("GET", "/accounts/me", who=token)).body)["accountName"] == "alice"
    assert await poll(multi, code) == refusal("access_denied")
    audited = [(entry.action, entry.details.get("account")) for entry in await multi.catalog.audit.list()]
    assert audited[::-1] == [
        ("POST /platform/token/device/authorization", None),
        ("POST /v/login", "alice"),
        ("POST /v/device", "alice"),
        ("POST /platform/token/device", "alice"),
    ]
    assert token not in repr(await multi.catalog.audit.list())


async def test_a_person_sends_a_program_away(multi: Hosted, browser: Browser) -> None:
    await browser.log_in()
    code = (await begin(multi))["device_code"]
    asked = await browser.get(f"/v/login?deviceCode={code}")
    assert "Denied" in (await browser.submit(asked, decision="deny")).text
    assert await poll(multi, code) == refusal("access_denied")
    assert (await browser.submit(asked, decision="allow")).status == 409
    assert (await browser.get(f"/v/login?deviceCode={code}")).status == 404


async def test_a_decision_counts_for_who_is_logged_in_alone(multi: Hosted, browser: Browser) -> None:
    code = (await begin(multi))["device_code"]
    await browser.log_in()
    asked = await browser.get(f"/v/login?deviceCode={code}")
    await browser.submit(await browser.get("/v/login"))
    assert (await browser.submit(asked, decision="allow")).status == 403
    assert await poll(multi, code) == refusal("authorization_pending")


async def test_of_programs_that_ask_with_one_code_one_gets_a_token(multi: Hosted) -> None:
    code = (await begin(multi))["device_code"]
    await multi.catalog.device_logins.approve(code, multi.accounts["alice"])
    answers = await asyncio.gather(*(poll(multi, code) for _ in range(5)))
    assert sorted(status for status, _ in answers) == [200, 400, 400, 400, 400]


async def test_what_is_no_code_of_the_program_gets_nothing(multi: Hosted) -> None:
    code = (await begin(multi))["device_code"]
    await multi.catalog.device_logins.approve(code, multi.accounts["alice"])
    assert await poll(multi, str(uuid.uuid4())) == refusal("access_denied")
    assert await poll(multi, code, client_id="other") == refusal("access_denied")
    assert await poll(multi, code, grant_type="password") == refusal("invalid_grant")
    assert (await post(multi, POLL, client_id="kamu", device_code=code)).status == 422
    assert (await poll(multi, code))[0] == 200
