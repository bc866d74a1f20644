"""What clients ask a node beside datasets: info, accounts, logins, health."""

from __future__ import annotations

import shutil

import orjson
import pytest

from catalog.scopes import Scope
from opendatafabric.names import AccountName
from tests.repo_server.hosted import Hosted
from tests.repo_server.oidc.issuer import signed_with_the_public_key, unsigned
from tests.storage.chains import ChainBuilder, dataset_id

PASSWORD = "correct horse battery"


def login_body(login: object = "alice", password: object = PASSWORD, method: object = "password") -> bytes:
    credentials = orjson.dumps({"login": login, "password": password}).decode()
    return orjson.dumps({"loginMethod": method, "loginCredentialsJson": credentials})


async def post_login(server: Hosted, body: bytes, content_type: str = "application/json") -> tuple[int, str]:
    headers = {"Content-Type": content_type}
    answer = await server.ask("POST", "/platform/login", data=body, headers=headers)
    return answer.status, answer.text


async def test_the_node_says_whether_datasets_lie_under_accounts(shared: Hosted) -> None:
    answer = await shared.ask("GET", "/info", who="x")
    assert orjson.loads(answer.body) == {"isMultiTenant": shared.settings.multi_tenant}


async def test_a_token_tells_whose_it_is(shared: Hosted) -> None:
    answer = await shared.ask("GET", "/accounts/me", who="alice")
    assert orjson.loads(answer.body) == {"id": str(shared.accounts["alice"].id), "accountName": "alice"}


@pytest.mark.parametrize("who", [None, "nonsense"])
async def test_without_a_valid_token_one_is_nobody(shared: Hosted, who: str | None) -> None:
    answer = await shared.ask("GET", "/accounts/me", who=who)
    assert (answer.status, orjson.loads(answer.body)) == (401, {"message": "Unauthenticated"})


@pytest.mark.parametrize(
    ("who", "message"), [(None, "No authentication token provided"), ("nonsense", "Authentication token invalid")]
)
async def test_a_token_that_does_not_count_is_told_why(shared: Hosted, who: str | None, message: str) -> None:
    answer = await shared.ask("GET", "/platform/token/validate", who=who)
    assert (answer.status, orjson.loads(answer.body)) == (401, {"message": message})


async def test_a_token_of_another_kind_is_nobodys_whoever_signed_it(shared_multi: Hosted) -> None:
    did = str(shared_multi.accounts["root"].id)
    made = (unsigned({"iss": "dev.kamu", "sub": did, "exp": 9_999_999_999}), signed_with_the_public_key({"sub": did}))
    for token in (*made, "ka_" + "0" * 58, "KA_", "a.b.c"):
        answer = await shared_multi.ask("GET", "/platform/token/validate", who=token)
        assert (answer.status, orjson.loads(answer.body)) == (401, {"message": "Authentication token invalid"})


async def test_a_token_that_counts_is_told_so(shared: Hosted) -> None:
    answer = await shared.ask("GET", "/platform/token/validate", who="alice")
    assert (answer.status, answer.body) == (200, b"")


async def test_a_password_gets_a_token_that_works(server: Hosted) -> None:
    await server.catalog.accounts.set_password(AccountName("alice"), PASSWORD)
    status, text = await post_login(server, login_body())
    assert status == 200
    token = orjson.loads(text)["accessToken"]
    assert orjson.loads((await server.ask("GET", "/accounts/me", who=token)).body)["accountName"] == "alice"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (login_body(password="wrong password"), 401),
        (login_body(login="nobody"), 401),
        (login_body(login="../alice"), 401),
        (login_body(login=7), 401),
        (login_body(password=None), 401),
        (orjson.dumps({"loginMethod": "password", "loginCredentialsJson": "{"}), 401),
        (orjson.dumps({"loginMethod": "password", "loginCredentialsJson": "[]"}), 401),
        (login_body(method="oauth_github"), 400),
        (orjson.dumps({"loginMethod": "password"}), 422),
        (orjson.dumps({"loginMethod": 1, "loginCredentialsJson": "{}"}), 422),
        (b"[]", 422),
        (b"{", 400),
        (b"\xff", 400),
        (b"", 400),
        (b'{"x":"' + b"x" * 100_000 + b'"}', 413),
    ],
)
async def test_a_bad_login_is_refused(shared_multi: Hosted, body: bytes, status: int) -> None:
    await shared_multi.catalog.accounts.set_password(AccountName("alice"), PASSWORD)
    assert (await post_login(shared_multi, body))[0] == status


async def test_a_login_of_another_media_type_is_refused(shared_multi: Hosted) -> None:
    assert (await post_login(shared_multi, login_body(), "text/plain"))[0] == 415


async def test_a_dataset_is_found_by_its_id(shared: Hosted, shared_chain: ChainBuilder) -> None:
    answer = await shared.ask("GET", f"/datasets/{shared_chain.id}")
    assert orjson.loads(answer.body) == {
        "id": str(shared_chain.id),
        "owner": {"accountName": "alice", "accountId": str(shared.accounts["alice"].id)},
        "datasetName": "open",
    }


async def test_private_and_unknown_ids_look_alike(shared: Hosted, shared_chain: ChainBuilder) -> None:
    private, unknown = dataset_id(2), dataset_id(99)
    for who in (None, "bob"):
        answers = [await shared.ask("GET", f"/datasets/{each}", who=who) for each in (private, unknown)]
        assert [answer.status for answer in answers] == [404, 404]
        assert answers[0].body == answers[1].body == b'{"message":"Not Found"}'
    assert (await shared.ask("GET", f"/datasets/{private}", who="alice")).status == 200


@pytest.mark.parametrize("text", ["x", "did:odf:x", "did:key:z6Mk", "%00", "did:odf:fed01" + "0" * 63])
async def test_what_is_no_id_is_400_as_text(shared: Hosted, text: str) -> None:
    answer = await shared.ask("GET", f"/datasets/{text}")
    assert answer.status == 400
    assert answer.headers["Content-Type"].startswith("text/plain")


@pytest.mark.parametrize("path", ["/system/health", "/system/ready"])
async def test_a_healthy_server_says_so(shared: Hosted, path: str) -> None:
    assert orjson.loads((await shared.ask("GET", path)).body) == {"ok": True}


async def test_a_server_without_its_folder_is_alive_and_not_ready(multi: Hosted) -> None:
    shutil.rmtree(multi.repository.root)
    assert (await multi.ask("GET", "/system/health")).status == 200
    answer = await multi.ask("GET", "/system/ready")
    assert answer.status == 503
    assert orjson.loads(answer.body)["ok"] is False


@pytest.mark.parametrize("path", ["/system/", "/platform/login/x"])
async def test_other_paths_of_the_node_are_404_as_text(shared: Hosted, path: str) -> None:
    answer = await shared.ask("GET", path)
    assert (answer.status, answer.text) == (404, "Not Found")


async def test_every_answer_has_a_number_that_a_client_may_choose(shared: Hosted) -> None:
    first, second = [(await shared.ask("GET", "/info")).headers["X-Request-Id"] for _ in range(2)]
    assert first != second
    assert (await shared.ask("GET", "/info", headers={"X-Request-Id": "mine-1"})).headers["X-Request-Id"] == "mine-1"
    assert (await shared.ask("GET", "/info", headers={"X-Request-Id": "a b\tc"})).headers["X-Request-Id"] != "a b\tc"


async def test_a_login_is_good_for_the_account_and_its_datasets_and_only_administrators_administer(
    multi: Hosted,
) -> None:
    for who, status in (("alice", 403), ("root", 200)):
        await multi.catalog.accounts.set_password(multi.accounts[who].name, PASSWORD)
        token = orjson.loads((await post_login(multi, login_body(who)))[1])["accessToken"]
        assert (await multi.ask("GET", "/system/mirrors", who=token)).status == status
        known = await multi.catalog.tokens.authenticate(token)
        assert {Scope.DATASETS_MANAGE, Scope.ACCOUNTS_MANAGE} <= known.scopes
