"""Tokens of issuers: a good one counts, every forged one does not, and none has more asked than it should."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import orjson
import pytest
from aiohttp import web

from opendatafabric.errors import AuthenticationRequired, OdfError, PeerUnavailable
from opendatafabric.login_limits import ISSUER_KEYS_ASKED_S, ISSUER_KEYS_FRESH_S
from repo_server.oidc.issuers import Issuers
from repo_server.oidc.tokens import check_party, proved_claims
from tests.repo_server.oidc.issuer import (
    CLIENT,
    EDWARDS,
    GOOD,
    ROTATED,
    STRANGER,
    LocalIssuer,
    issuing,
    signed_with_the_public_key,
    unsigned,
)

DISCOVERY, KEYS = "/.well-known/openid-configuration", "/jwks_uri"


@dataclass
class Prover:
    """An issuer, and a server that believes it; ``passed`` moves the server's clock."""

    issuer: LocalIssuer
    passed: float = 0.0

    def __post_init__(self) -> None:
        self.issuers = Issuers(frozenset({self.issuer.address}), lambda: self.passed)

    async def claims(self, token: str, **changed: Any) -> Any:
        expected = {"issuer": self.issuer.address, "audience": CLIENT, **changed}
        return await proved_claims(self.issuers, token, **expected)


@pytest.fixture
async def prover() -> AsyncIterator[Prover]:
    async with issuing() as issuer:
        yield Prover(issuer)


async def test_a_token_of_the_issuer_counts(prover: Prover) -> None:
    claims = await prover.claims(prover.issuer.token(email="carol@example.org"))
    assert (claims["sub"], claims["email"]) == ("1234", "carol@example.org")
    assert (await prover.claims(prover.issuer.token(EDWARDS, "Ed25519")))["sub"] == "1234"
    assert (await prover.claims(prover.issuer.token(aud=[CLIENT, "other"], azp=CLIENT)))["sub"] == "1234"


async def test_no_forged_token_counts(prover: Prover) -> None:
    now = int(time.time())
    good = {"iss": prover.issuer.address, "aud": CLIENT, "sub": "1234", "iat": now, "exp": now + 300}
    made = prover.issuer.token
    head, body, signature = made().split(".")
    forged = {
        "none": unsigned(good),
        "None": unsigned(good, "None"),
        "no algorithm": unsigned(good, ""),
        "HS256 with the public key": signed_with_the_public_key(good),
        "key of a stranger": made(STRANGER),
        "key that signs otherwise": made(GOOD, header={"kid": "edwards"}),
        "unknown key": made(ROTATED, "ES256"),
        "key in the header": made(STRANGER, header={"kid": "mine", "jwk": STRANGER.as_dict(private=False)}),
        "keys elsewhere": made(STRANGER, header={"kid": "mine", "jku": "http://127.0.0.1:1/keys"}),
        "another claim": f"{head}.{body[:-2]}AA.{signature}",
        "no signature": f"{head}.{body}.",
        "another issuer": made(iss="https://issuer.example.org"),
        "issuer with a slash": made(iss=prover.issuer.address + "/"),
        "another audience": made(aud="other"),
        "no audience": made(aud=None),
        "audiences of numbers": made(aud=[1]),
        "several audiences, nobody asked": made(aud=[CLIENT, "other"]),
        "expired": made(exp=now - 61),
        "no end": made(exp=None),
        "end in words": made(exp="tomorrow"),
        "not yet": made(nbf=now + 120),
        "made in the future": made(iat=now + 120),
        "no subject": made(sub=None),
        "empty subject": made(sub=""),
        "subject of lines": made(sub="a\nb"),
        "long subject": made(sub="x" * 256),
        "too long": made(more="x" * 20_000),
        "no token": "x",
        "two parts": f"{head}.{body}",
        "no JSON": "e30.e30.e30",
        "list": "W10.W10.W10",
        "odd bytes": "\udcff.\u00e9.x",
    }
    counted = [name for name, token in forged.items() if await counts(prover, token)]
    assert counted == []


async def counts(prover: Prover, token: str) -> bool:
    """Whether it does; a refusal does not tell the token."""
    try:
        await prover.claims(token)
    except AuthenticationRequired as error:
        return token in error.message
    return True


async def test_a_login_that_another_program_asked_for_does_not_count() -> None:
    check_party({"azp": CLIENT}, CLIENT)
    check_party({}, CLIENT)
    with pytest.raises(AuthenticationRequired):
        check_party({"azp": "other"}, CLIENT)


async def test_keys_are_asked_for_once(prover: Prover) -> None:
    await asyncio.gather(*(prover.claims(prover.issuer.token()) for _ in range(5)))
    assert prover.issuer.asked == [DISCOVERY, KEYS]
    prover.passed += ISSUER_KEYS_FRESH_S
    await prover.claims(prover.issuer.token())
    assert prover.issuer.asked == [DISCOVERY, KEYS] * 2


async def test_a_new_key_of_the_issuer_is_found(prover: Prover) -> None:
    await prover.claims(prover.issuer.token())
    prover.issuer.keys.append(ROTATED)
    prover.passed += ISSUER_KEYS_ASKED_S
    assert (await prover.claims(prover.issuer.token(ROTATED, "ES256")))["sub"] == "1234"


async def test_tokens_with_keys_that_never_were_ask_no_more_than_once_in_a_while(prover: Prover) -> None:
    await prover.claims(prover.issuer.token())
    for number in range(5):
        with pytest.raises(AuthenticationRequired):
            await prover.claims(prover.issuer.token(STRANGER, header={"kid": f"never-{number}"}))
    assert prover.issuer.asked.count(KEYS) == 1


async def test_a_key_that_was_taken_back_ends_with_the_hour(prover: Prover) -> None:
    token = prover.issuer.token()
    await prover.claims(token)
    prover.issuer.keys.remove(GOOD)
    prover.passed += ISSUER_KEYS_FRESH_S
    with pytest.raises(AuthenticationRequired):
        await prover.claims(token)


def answer(value: Any, status: int = 200, **headers: str) -> web.Response:
    return web.Response(body=orjson.dumps(value), status=status, headers=headers)


HUGE = {"keys": [{"kty": "RSA", "kid": "x" * 300_000}]}
SECRETS = {"keys": [{"kty": "oct", "kid": "good", "k": "c2VjcmV0"}]}
BROKEN = {"keys": [{"kty": "RSA", "kid": "good", "n": "!", "e": "AQAB"}]}


@pytest.mark.parametrize(
    ("path", "told", "family"),
    [
        (DISCOVERY, answer({}), AuthenticationRequired),
        (DISCOVERY, answer([]), AuthenticationRequired),
        (DISCOVERY, answer({"issuer": "https://other.example"}), AuthenticationRequired),
        (DISCOVERY, answer({}, 302, Location="/elsewhere"), AuthenticationRequired),
        (DISCOVERY, answer({}, 404), AuthenticationRequired),
        (DISCOVERY, answer({}, 500), PeerUnavailable),
        (DISCOVERY, web.Response(body=b"{"), AuthenticationRequired),
        (KEYS, answer({}, 302, Location="http://169.254.169.254/"), AuthenticationRequired),
        (KEYS, answer({}), AuthenticationRequired),
        (KEYS, answer({"keys": []}), AuthenticationRequired),
        (KEYS, answer({"keys": 7}), AuthenticationRequired),
        (KEYS, answer(SECRETS), AuthenticationRequired),
        (KEYS, answer(BROKEN), AuthenticationRequired),
        (KEYS, answer({"keys": [{"kty": "RSA"}] * 101}), AuthenticationRequired),
        (KEYS, answer(HUGE), PeerUnavailable),
    ],
)
async def test_an_issuer_that_answers_otherwise_vouches_for_nobody(
    prover: Prover, path: str, told: web.Response, family: type[OdfError]
) -> None:
    prover.issuer.documents[path] = told
    with pytest.raises(family):
        await prover.claims(prover.issuer.token())
    assert set(prover.issuer.asked) <= {DISCOVERY, KEYS}


@pytest.mark.parametrize(
    "keys", ["file:///etc/passwd", "http://user:pass@127.0.0.1/", "/keys", "", "https://[", "ftp://x/"]
)
async def test_keys_at_no_web_address_are_not_looked_for(prover: Prover, keys: str) -> None:
    told = {"issuer": prover.issuer.address, "jwks_uri": keys}
    prover.issuer.documents[DISCOVERY] = answer(told)
    with pytest.raises(AuthenticationRequired):
        await prover.claims(prover.issuer.token())


async def test_an_issuer_that_a_stranger_named_is_asked_at_public_addresses_only(prover: Prover) -> None:
    strangers = Issuers()
    port = prover.issuer.address.rpartition(":")[2]
    for address in (
        prover.issuer.address,
        f"https://127.0.0.1:{port}",
        f"https://localhost:{port}",
        "https://169.254.169.254",
    ):
        with pytest.raises(AuthenticationRequired):
            await strangers.issuer(address)
    assert prover.issuer.asked == []


async def test_an_issuer_that_is_not_there_is_said_not_to_answer() -> None:
    address = "http://127.0.0.1:1"
    with pytest.raises(PeerUnavailable):
        await Issuers(frozenset({address})).issuer(address)
