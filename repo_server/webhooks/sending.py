"""One message to the receiver of a webhook: signed, to a place where it may go, and not for long.

The address may be anybody's. That of a stranger leads to public hosts only, whatever names say; redirects are not
followed, and of what comes back nothing but the status and ``Retry-After`` is read.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import aiohttp
from aiohttp import hdrs
from yarl import URL

from catalog.attestations import AttestationKeys
from catalog.webhook_schedule import Attempt
from catalog.webhooks import Webhook
from opendatafabric.server_limits import WEBHOOK_BODY_BYTES_MAX, WEBHOOK_SECONDS_MAX
from repo_server.webhooks.message_signatures import Signer, signed_headers, signer_of_node, signer_of_secret
from storage.backoff import asked_wait_s
from storage.public_addresses import Sockets
from verify.attestation.node_key import node_key

_NONCE_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Sender:
    """Signs with the key in ``key_path``, where one is known; ``now`` in seconds since 1970."""

    key_path: Path | None
    keys: AttestationKeys
    now: Callable[[], float]
    resolver: aiohttp.abc.AbstractResolver | None = field(default=None)
    seconds_max: float = WEBHOOK_SECONDS_MAX

    async def send(self, webhook: Webhook, body: bytes, *, private_places: bool) -> Attempt:
        """How it went; nothing is raised for what the receiver does."""
        assert len(body) <= WEBHOOK_BODY_BYTES_MAX
        url, began_at = URL(webhook.wanted.url).with_fragment(None), time.monotonic()
        headers = signed_headers(
            str(url.with_user(None)),
            body,
            await self._signers(webhook),
            created=int(self.now()),
            nonce=secrets.token_urlsafe(_NONCE_BYTES),
        )
        at = self.now()
        status, failure, retry_after_s = await self._sent(url, body, headers, Sockets(private_places=private_places))
        return Attempt(at, time.monotonic() - began_at, status, failure, retry_after_s)

    async def _sent(
        self, url: URL, body: bytes, headers: dict[str, str], sockets: Sockets
    ) -> tuple[int | None, str | None, float | None]:
        timeout = aiohttp.ClientTimeout(total=self.seconds_max)
        try:
            async with (
                aiohttp.ClientSession(connector=sockets.connector(self.resolver), timeout=timeout) as session,
                session.post(url, data=body, headers=headers, allow_redirects=False) as answer,
            ):
                return answer.status, _failure(answer.status), self._retry_after_s(answer)
        except TimeoutError:
            return None, f"it did not answer in {self.seconds_max:g} s", None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return None, "its address is not public" if sockets.refused else _in_words(error), None

    def _retry_after_s(self, answer: aiohttp.ClientResponse) -> float | None:
        return asked_wait_s(answer.headers.get(hdrs.RETRY_AFTER), self.now())

    async def _signers(self, webhook: Webhook) -> list[Signer]:
        found = []
        if self.key_path is not None:
            found.append(signer_of_node(await node_key(self.key_path, self.keys)))
        if webhook.wanted.secret is not None:
            found.append(signer_of_secret(webhook.wanted.secret, webhook.id))
        return found


def _failure(status: int) -> str | None:
    return f"it answered {status} with a redirect, which is not followed" if 300 <= status < 400 else None


def _in_words(error: Exception) -> str:
    """Without what may be secret in an address."""
    if isinstance(error, aiohttp.ClientConnectorError):
        return "it cannot be reached"
    return f"the connection failed: {type(error).__name__}"
