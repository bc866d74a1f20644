"""Having a server verify a dataset of its own, and following it to the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from typing import Any, Final

import aiohttp
import orjson

from cli.datasets import Located
from cli.server_reports import located_on_server
from opendatafabric.errors import AccessDenied, MalformedInput, UnsupportedOperation
from opendatafabric.limits import BODY_BUFFER_BYTES, READ_CHUNK_BYTES
from repo_server.run_states import OVER, RunStep
from storage.backoff import retried
from storage.http.answer import HttpFolder, Manners
from storage.progress import Progress
from storage.reading import joined
from sync.credentials import headers_for
from verify.report import Verdict

ASK_AGAIN_S: Final = 2.0
"""After a stream that ended before the run did: servers end them after a while, and when they stop."""

_COUNTS: Final = ("blocks", "records", "steps", "findings")
_MANNERS: Final = Manners(redirects=False)
"""The token is for the server that is named."""


async def verified_by_server(
    located: Located, advance: Progress, *, ask_again_s: float = ASK_AGAIN_S
) -> dict[str, Any]:
    """The last state of a run that verifies the dataset: the one that waits or goes on there, else a new one.

    Raises:
        ObjectNotFound: there is no such dataset there.
        AuthenticationRequired, AccessDenied: it is not for the caller to ask for.
        MalformedInput: another answer than the state of a run.
        StorageError: the server did not answer, several times.
    """
    async with aiohttp.ClientSession() as session:
        folder = HttpFolder(session, located.location, headers_for(located.location), _MANNERS)
        run = await retried(lambda: _asked(folder, located.name))
        following = _Following(folder, run, advance)
        while True:
            last = await retried(following.followed)
            if last is not None:
                return last
            await asyncio.sleep(ask_again_s)


async def required_on_server(ref: str, repository: str) -> Located:
    """The dataset on a server that is called so.

    Raises:
        UnsupportedOperation: it does not lie on a server.
    """
    located = await located_on_server(ref, repository)
    if located is None:
        raise UnsupportedOperation(f"{ref} is not on a server", hint="an address, or --repo with that of a server")
    return located


def told_lines(name: str, state: Mapping[str, Any]) -> Iterator[str]:
    """The last state of a run for people, the verdict last but for names."""
    outcome = state.get("outcome")
    if outcome is None:
        yield f"{name}: {state['state']}: {state.get('error')}"
        return
    if outcome.get("finding"):
        yield str(outcome["finding"])
    counts = (f"{outcome[each]} {each}" for each in _COUNTS if each in outcome)
    yield f"{name}: {outcome['verdict']} ({', '.join(counts)})"
    yield from (f"{label} {outcome[label]}" for label in ("report", "signer") if outcome.get(label))


def verdict_in(state: dict[str, Any]) -> Verdict:
    """Of a run; one that failed leaves it open."""
    return Verdict(state["outcome"]["verdict"]) if state["state"] == RunStep.ENDED else Verdict.ERROR


async def _asked(folder: HttpFolder, name: str) -> int:
    try:
        async with folder.request("POST", "verify") as response:
            chunks = response.content.iter_chunked(READ_CHUNK_BYTES)
            raw = await joined("verify", chunks, size_max=BODY_BUFFER_BYTES)
    except AccessDenied as error:
        raise AccessDenied(f"{name} may not be verified by this caller", hint="whoever may write it may ask") from error
    run: int = _state(raw)["run"]
    return run


class _Following:
    """One run; what is known of it outlasts a stream that breaks off."""

    def __init__(self, folder: HttpFolder, run: int, advance: Progress) -> None:
        self._folder, self._run, self._advance = folder, run, advance
        self._known: str | None = None

    async def followed(self) -> dict[str, Any] | None:
        """The last state, or ``None`` when the stream ended before."""
        async with aclosing(self._states()) as states:
            async for state in states:
                for label, amount in (state.get("progress") or {}).items():
                    self._advance(label, amount["done"], amount["total"])
                if state["state"] in OVER:
                    return state
        return None

    async def _states(self) -> AsyncGenerator[dict[str, Any], None]:
        headers = {} if self._known is None else {"Last-Event-ID": self._known}
        event_id = None
        async with self._folder.request("GET", f"verify/{self._run}/events", headers) as response:
            async for line in _lines(response):
                field, _, value = line.partition(b": ")
                if field == b"id":
                    event_id = value.decode() if value.isalnum() else None
                elif field == b"data":
                    yield _state(value)
                    self._known = event_id


async def _lines(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    rest = b""
    async for piece in response.content.iter_any():
        *lines, rest = (rest + piece).split(b"\n")
        if len(rest) > BODY_BUFFER_BYTES:
            raise MalformedInput("the server tells of a run in lines that are too long")
        for line in lines:
            yield line.rstrip(b"\r")


def _state(raw: bytes) -> dict[str, Any]:
    """What the server says, if it is the state of a run."""
    try:
        state: dict[str, Any] = orjson.loads(raw)
        RunStep(state["state"])
        verdict_in(state)
        if not isinstance(state["run"], int):
            raise TypeError
        for label, amount in (state.get("progress") or {}).items():
            _check_amount(label, amount)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise MalformedInput("the server answers otherwise than with the state of a run") from None
    return state


def _check_amount(label: str, amount: dict[str, Any]) -> None:
    if not label.isalpha() or not isinstance(amount["done"], int) or not isinstance(amount["total"], int | None):
        raise ValueError
