"""An issuer of OpenID Connect on this machine: real HTTP, real keys, and tokens of every honesty."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from html import escape
from typing import Any

import orjson
from aiohttp import web
from aiohttp.test_utils import TestServer
from joserfc import jwt
from joserfc.jwk import ECKey, Key, KeySet, OKPKey, RSAKey
from yarl import URL

CLIENT, SECRET, PAIR = "odf-client", "s3cret+%", b"odf-client:s3cret%2B%25"
GOOD, ROTATED, STRANGER = (
    RSAKey.generate_key(2048, {"kid": "good"}),
    ECKey.generate_key("P-256", {"kid": "rotated"}),
    RSAKey.generate_key(2048, {"kid": "good"}),
)
EDWARDS = OKPKey.generate_key("Ed25519", {"kid": "edwards"})


@dataclass
class LocalIssuer:
    """``asked`` counts the paths that were asked for; ``documents`` replaces answers."""

    address: str = ""
    keys: list[Key] = field(default_factory=lambda: [GOOD, EDWARDS])
    asked: list[str] = field(default_factory=list)
    documents: dict[str, web.Response] = field(default_factory=dict)
    codes: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """What was asked for at the page to log in, by the code that was given for it."""
    claims: dict[str, Any] = field(default_factory=dict)
    """What is said besides of whoever logs in."""

    def token(
        self, key: Key = GOOD, algorithm: str = "RS256", header: Mapping[str, Any] | None = None, **claims: Any
    ) -> str:
        """A token that is good unless told otherwise; claims that are ``None`` are left out."""
        now = int(time.time())
        said = {"iss": self.address, "aud": CLIENT, "sub": "1234", "iat": now, "exp": now + 300, **claims}
        told = {name: value for name, value in said.items() if value is not None}
        return jwt.encode({"alg": algorithm, "kid": key.kid, **(header or {})}, told, key, algorithms=[algorithm])

    def sent_back(self, asked_for: Mapping[str, str]) -> str:
        """What a person who logs in at ``asked_for`` (the query) comes back with: a code."""
        code = f"code-{len(self.codes)}"
        self.codes[code] = dict(asked_for)
        return code

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.path)
        if request.path in self.documents:
            made = self.documents[request.path]
            return web.Response(body=made.body, status=made.status, headers=made.headers)
        if request.path == "/.well-known/openid-configuration":
            names = ("authorization_endpoint", "token_endpoint", "jwks_uri")
            return web.json_response({"issuer": self.address, **{name: f"{self.address}/{name}" for name in names}})
        if request.path == "/jwks_uri":
            return web.json_response(KeySet(self.keys).as_dict(private=False))
        return await self.redeem(request) if request.method == "POST" else self.page(request)

    def page(self, request: web.Request) -> web.Response:
        """The page to log in, for browsers."""
        query = {"code": self.sent_back(request.query), "state": request.query["state"], "iss": self.address}
        back = escape(str(URL(request.query["redirect_uri"]).with_query(query)))
        return web.Response(text=f'<a href="{back}">Let me in</a>', content_type="text/html")

    async def redeem(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        asked_for = self.codes.pop(str(form.get("code")), None)
        authorization = request.headers.get("Authorization", "")
        proved = base64.urlsafe_b64encode(hashlib.sha256(str(form.get("code_verifier", "")).encode()).digest())
        if (
            asked_for is None
            or authorization != f"Basic {base64.b64encode(PAIR).decode()}"
            or asked_for.get("redirect_uri") != form.get("redirect_uri")
            or asked_for.get("code_challenge") != proved.rstrip(b"=").decode()
        ):
            return web.json_response({"error": "invalid_grant"}, status=400)
        token = self.token(**{"nonce": asked_for["nonce"], "preferred_username": "Carol.K", **self.claims})
        return web.json_response({"id_token": token, "access_token": "opaque", "token_type": "Bearer"})


@asynccontextmanager
async def issuing() -> AsyncIterator[LocalIssuer]:
    """An issuer on a free port."""
    issuer = LocalIssuer()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", issuer.answer)
    async with TestServer(application) as running:
        issuer.address = str(running.make_url("")).rstrip("/")
        yield issuer


def unsigned(claims: Mapping[str, Any], algorithm: str = "none") -> str:
    """A token that nobody signed."""
    parts = [orjson.dumps({"alg": algorithm, "typ": "JWT", "kid": "good"}), orjson.dumps(claims), b""]
    return b".".join(map(_encoded, parts)).decode()


def signed_with_the_public_key(claims: Mapping[str, Any]) -> str:
    """HS256 with what everybody can read as the secret."""
    head = {"alg": "HS256", "typ": "JWT", "kid": "good"}
    said = b".".join(_encoded(orjson.dumps(part)) for part in (head, dict(claims)))
    mac = hmac.digest(GOOD.as_pem(private=False), said, "sha256")
    return b".".join((said, _encoded(mac))).decode()


def _encoded(raw: bytes) -> bytes:
    return base64.urlsafe_b64encode(raw).rstrip(b"=")
