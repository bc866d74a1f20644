"""A file on an FTP server, by the time it was changed where the server tells that (RFC 959, RFC 3659)."""

from __future__ import annotations

import asyncio
import ftplib
import time
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import SplitResult, unquote

from opendatafabric.errors import AccessDenied, MalformedManifest, NotFound, PeerUnavailable
from opendatafabric.instant import Instant
from opendatafabric.limits import READ_CHUNK_BYTES
from opendatafabric.metadata.slices import SourceState
from opendatafabric.metadata.sources import EventTimeSourceFromMetadata, FetchStepUrl
from opendatafabric.source_limits import FETCH_S_MAX, FETCH_SILENCE_S_MAX, FTP_LINES_MAX
from pipeline.fetch.fetched import LAST_MODIFIED, Fetched, FetchOptions, state_of
from pipeline.fetch.places import named_place, reachable_address
from pipeline.fetch.sink import Sink

_NOT_LOGGED_IN, _NOT_THERE = "530", "550"


async def fetch_ftp(
    step: FetchStepUrl, parts: SplitResult, state: SourceState | None, target: Path, options: FetchOptions
) -> Fetched | None:
    """The file, if it is another than at ``state`` or the server does not tell; errors as ``fetch``."""
    place = named_place(step.url)
    host, port = parts.hostname or "", parts.port or ftplib.FTP_PORT
    if any(end in unquote(f"{parts.path}{parts.netloc}") for end in "\r\n"):
        raise MalformedManifest(f"the address of the source {place} holds more than one line")
    address = await reachable_address(host, port, options, place)
    try:
        sink = Sink(target, place, options.progress)
        return await asyncio.to_thread(_fetch, step, parts, (address, port), state, sink)
    except (ftplib.Error, OSError, EOFError, ValueError) as error:
        raise _translated(error, place) from None


def _fetch(
    step: FetchStepUrl, parts: SplitResult, address: tuple[str, int], state: SourceState | None, sink: Sink
) -> Fetched | None:
    path = unquote(parts.path.partition(";type=")[0].removeprefix("/"))
    with _BoundedFtp(timeout=FETCH_SILENCE_S_MAX) as server:
        server.connect(*address)
        server.login(unquote(parts.username or ""), unquote(parts.password or ""))
        server.voidcmd("TYPE I")
        changed, size = _time_of_change(server, path), _size(server, path)
        new_state = None if changed is None else state_of(LAST_MODIFIED, str(changed))
        if new_state is not None and new_state == state:
            return None
        with sink:
            server.take(path, sink)
    if size is not None and sink.size != size:
        raise EOFError(f"{sink.size} of {size} bytes")
    event_time = changed if isinstance(step.event_time, EventTimeSourceFromMetadata) else None
    return Fetched(sink.target, new_state, event_time)


class _BoundedFtp(ftplib.FTP):
    """A client that no server keeps for ever."""

    _lines = 0
    _begun = 0.0

    def getline(self) -> str:
        """As the base, whose answers may have lines without end."""
        self._begun = self._begun or time.monotonic()
        self._lines += 1
        if self._lines > FTP_LINES_MAX:
            raise EOFError("the server talks without end")
        line: str = super().getline()
        return line

    def take(self, path: str, sink: Sink) -> None:
        """The file, piece by piece."""

        def keep(piece: bytes) -> None:
            if time.monotonic() - self._begun > FETCH_S_MAX:
                raise EOFError("the server sends without end")
            sink.write(piece)

        self.retrbinary(f"RETR {path}", keep, READ_CHUNK_BYTES)


def _time_of_change(server: ftplib.FTP, path: str) -> Instant | None:
    """To the second, or finer where the server is; not every server tells."""
    try:
        told = server.sendcmd(f"MDTM {path}")[4:].strip()
        whole, _, fraction = told.partition(".")
        moment = datetime.strptime(f"{whole}.{fraction or 0}", "%Y%m%d%H%M%S.%f")
    except (ftplib.error_perm, ftplib.error_temp, ValueError):
        return None
    return Instant.from_datetime(moment.replace(tzinfo=UTC))


def _size(server: ftplib.FTP, path: str) -> int | None:
    try:
        return server.size(path)
    except (ftplib.error_perm, ftplib.error_temp, ValueError):
        return None


def _translated(error: Exception, place: str) -> Exception:
    code = str(error)[:3]
    if code == _NOT_THERE:
        return NotFound(f"the source {place} is not there")
    if code == _NOT_LOGGED_IN:
        return AccessDenied(f"the source {place} does not let us in", hint="a user and a password in its address")
    return PeerUnavailable(f"the source {place} cannot be fetched: {type(error).__name__}")
