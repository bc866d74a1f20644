"""The receiver that the documentation shows takes what a server sends, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from http_message_signatures.exceptions import InvalidSignature

from repo_server.config import Tenancy
from tests.repo_server.hosted import hosted
from tests.repo_server.test_webhooks import MINE, ask, made
from tests.repo_server.webhooks.receiver import receiving
from tests.test_docs import blocks

Checking = Callable[..., dict[str, Any]]


def shown() -> tuple[Callable[[str], Any], Checking]:
    """What the page defines."""
    ((_, code),) = blocks(Path("docs/how-to/receive-webhooks.md"), "python")
    names: dict[str, Any] = {}
    exec(code, names)
    return names["Keys"], names["event_of"]


async def test_the_receiver_of_the_page_takes_what_the_server_sent_alone(tmp_path: Path) -> None:
    keys_of, event_of = shown()
    options = {"run_worker": False, "webhook_private_places": True}
    async with hosted(tmp_path, Tenancy.MULTI, **options) as server, receiving() as receiver:
        webhook = await made(server, receiver.address)
        await ask(server, "POST", f"{MINE}/{webhook['id']}/test")
        (heard,) = receiver.heard
        keys = await asyncio.to_thread(keys_of, server.url)
    assert event_of(keys, receiver.address, heard.headers, heard.body)["data"] == {"webhook": webhook["id"]}
    for url, body in ((receiver.address, b"{}"), ("https://elsewhere.example/", heard.body)):
        with pytest.raises(InvalidSignature):
            event_of(keys, url, heard.headers, body)
