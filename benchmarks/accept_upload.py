"""What does it cost to accept an object: hashed as it arrives, flushed, published? (goals P4, P5, P6)

One upload of 1 GiB against bare SHA3-256 of the same bytes. Then eight uploads at once: how much memory the server
takes on, and how long other requests wait meanwhile, asked every 10 ms (a loop that stands still answers nobody).
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import socket
import statistics
import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Final

from benchmarks.harness import Goal, Question, Way, main
from benchmarks.processes import HOST, Server, scratch, start_ours
from benchmarks.serve_objects import ALIAS, GIB, MIB, hosted

AT_ONCE: Final = 8
RSS_GROWTH_MIB_MAX: Final = 128
STALL_P99_MS_MAX, STALL_MS_MAX = 25, 100
_TICK_S: Final = 0.01
_SUFFIX_BYTES: Final = 8


class Objects:
    """Endless different objects of one size: a file, and eight bytes that count."""

    def __init__(self, path: Path, size: int) -> None:
        self.path, self.size = path, size
        self._hash = hashlib.sha3_256()
        with path.open("wb") as file:
            for _ in range((size - _SUFFIX_BYTES) // MIB):
                piece = os.urandom(MIB)
                file.write(piece)
                self._hash.update(piece)
        self.size = path.stat().st_size + _SUFFIX_BYTES
        self._numbers: Iterator[int] = count()

    def next(self) -> tuple[str, bytes]:
        """The key of the next object, and its last bytes."""
        suffix = next(self._numbers).to_bytes(_SUFFIX_BYTES, "big")
        complete = self._hash.copy()
        complete.update(suffix)
        return f"data/f1620{complete.hexdigest()}", suffix


def upload(server: Server, token: str, objects: Objects) -> None:
    """Put the next object; the kernel sends the file."""
    key, suffix = objects.next()
    head = (
        f"PUT /{ALIAS}/{key} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Length: {objects.size}\r\nConnection: close\r\n\r\n"
    )
    with socket.create_connection((HOST, server.port)) as connection, objects.path.open("rb") as file:
        connection.sendall(head.encode())
        connection.sendfile(file)
        connection.sendall(suffix)
        answer = connection.recv(200)
    if not answer.startswith(b"HTTP/1.1 200"):
        raise SystemExit(answer.decode(errors="replace"))


def bare_hash(path: Path) -> None:
    """SHA3-256 of the file and nothing else."""
    with path.open("rb") as file:
        hashlib.file_digest(file, "sha3_256")


def one_upload(quick: bool) -> Question:
    """P4."""
    server, token, objects = _prepared(256 * MIB if quick else GIB)
    return Question(
        title=f"Accepting an object of {objects.size // MIB} MiB",
        unit="GiB",
        ways=[
            Way("bare SHA3-256", lambda: bare_hash(objects.path), objects.size / GIB),
            Way("upload", lambda: upload(server, token, objects), objects.size / GIB, server.cpu),
        ],
        goals=[Goal("P4", "wall of bare SHA3 to an upload", "upload", "bare SHA3-256", 0.75, measure="wall_speed")],
    )


def many_uploads(quick: bool) -> Question:
    """P5 and P6 are figures of the server itself; they are printed as they are found."""
    server, token, objects = _prepared(64 * MIB if quick else 256 * MIB)
    upload(server, token, objects)

    def run() -> None:
        idle = server.rss_mib()
        server.forget_peak()
        waits = _while_uploading(server, token, objects)
        growth = server.peak_mib() - idle
        p99, longest = statistics.quantiles(waits, n=100)[-1] * 1_000, max(waits) * 1_000
        print(
            f"  {AT_ONCE} at once: +{growth:.0f} MiB ({_met(growth <= RSS_GROWTH_MIB_MAX)} P5: {RSS_GROWTH_MIB_MAX});"
            f" others wait {p99:.0f} ms p99 ({_met(p99 <= STALL_P99_MS_MAX)} P6: {STALL_P99_MS_MAX}),"
            f" {longest:.0f} ms at most ({_met(longest <= STALL_MS_MAX)} P6: {STALL_MS_MAX})",
            flush=True,
        )

    gib = AT_ONCE * objects.size / GIB
    return Question(
        f"{AT_ONCE} uploads of {objects.size // MIB} MiB at once", "GiB", [Way("uploads", run, gib, server.cpu)]
    )


def _while_uploading(server: Server, token: str, objects: Objects) -> list[float]:
    """Seconds that small requests took meanwhile."""
    uploads = [threading.Thread(target=upload, args=(server, token, objects)) for _ in range(AT_ONCE)]
    for each in uploads:
        each.start()
    waits = []
    with socket.create_connection((HOST, server.port)) as connection:
        while any(each.is_alive() for each in uploads):
            began = time.perf_counter()
            connection.sendall(b"GET /system/health HTTP/1.1\r\nHost: x\r\n\r\n")
            connection.recv(4_096)
            waits.append(time.perf_counter() - began)
            time.sleep(_TICK_S)
    return waits


def _prepared(size: int) -> tuple[Server, str, Objects]:
    folder = scratch("accept-upload")
    _, token = asyncio.run(hosted(folder / "repository"))
    return start_ours(folder / "repository"), token, Objects(folder / "object", size)


def _met(holds: bool) -> str:
    return "meets" if holds else "does NOT meet"


if __name__ == "__main__":
    main(one_upload, many_uploads)
