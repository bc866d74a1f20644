"""Servers whose process ends at the k-th step of their stores, forked from one process that has everything loaded.

Called as ``python -m tests.faults.mortal_server``. A line ``serve FOLDER STRIKE_AT MOMENT`` on standard input forks a
server and is answered with its address; a line ``end`` kills it and is answered with the steps its stores made, as a
JSON list. A process of its own, since forking needs one without threads.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipeline import ingest_job
from repo_server.app import serve
from repo_server.config import Settings
from storage import repository
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore
from storage.repository import Repository
from tests.faults.faulty_os import end_of_process
from tests.faults.faulty_stores import Faults, FaultyObjectStore, FaultyRefStore
from tests.pipeline.local_engine import LocalEngine

LOADED = (ingest_job,)
"""What a server needs that ingests."""

CHANGING = ("create", "put", "put_many", "arrive", "quarantine", "publish", "discard", "delete", "compare_and_swap")
"""What a server that dies before it does not differ from one that dies after it, for all other steps."""


class TracedFaults(Faults):
    """Faults that write every step down before it is taken, where it outlives the process."""

    def __init__(self, trace: int, strike_at: int, *, after: bool) -> None:
        super().__init__(strike=end_of_process, after=after, only=CHANGING if after else ())
        self._trace = trace
        self._armed_at = strike_at

    def arm(self) -> None:
        """Count from here on."""
        self.steps.clear()
        self.strike_at = self._armed_at

    def _strikes(self, operation: str, subject: str) -> bool:
        before = len(self.steps)
        struck = super()._strikes(operation, subject)
        for step in self.steps[before:]:
            os.write(self._trace, f"{step}\n".encode())
        return struck


def install(faults: Faults) -> None:
    """Let every repository of this process be over faulty stores."""
    create = Repository.create

    async def counted(self: Repository, *arguments: Any) -> Any:
        return await faults.step("create", "dataset", lambda: create(self, *arguments))

    vars(repository)["LocalObjectStore"] = lambda root: FaultyObjectStore(LocalObjectStore(root), faults)
    vars(repository)["LocalRefStore"] = lambda root: FaultyRefStore(LocalRefStore(root), faults)
    Repository.create = counted  # type: ignore[method-assign, assignment]


def run(folder: Path, faults: TracedFaults, answer: Callable[[str], None]) -> None:
    """Serve until the end of the process."""
    install(faults)
    settings = Settings(repo=folder, port=0, access_log=False)

    def ready(address: str) -> None:
        faults.arm()
        answer(address)

    asyncio.run(serve(settings, on_ready=ready, engine=LocalEngine(folder / ".engine")))


def answer(text: str) -> None:
    print(text, flush=True)


def main() -> None:
    child, trace = 0, Path(sys.argv[1])
    for line in sys.stdin:
        command, *arguments = line.split()
        if command == "serve":
            folder, strike_at, moment = arguments
            descriptor = os.open(trace, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
            child = os.fork()
            if child == 0:
                run(Path(folder), TracedFaults(descriptor, int(strike_at), after=moment == "after"), answer)
                os._exit(0)
            os.close(descriptor)
        else:
            os.kill(child, 9)
            os.waitpid(child, 0)
            answer(json.dumps(trace.read_text().splitlines()))


if __name__ == "__main__":
    main()
