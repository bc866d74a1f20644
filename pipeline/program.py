"""A program whose output becomes a file, or is heard: bounded in time and size, ended with all that it started."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from opendatafabric.errors import LimitExceeded, UnsupportedOperation
from opendatafabric.limits import READ_CHUNK_BYTES
from opendatafabric.source_limits import PROGRAM_WORDS_BYTES
from pipeline.process_group import kill_group

if TYPE_CHECKING:
    from pipeline.fetch.sink import Sink


@dataclass(frozen=True, slots=True)
class Program:
    """``environment`` and ``folder`` are those of this process unless given; it reads ``given``, or nothing."""

    command: Sequence[str | Path]
    environment: Mapping[str, str] | None = None
    folder: Path | None = None
    given: IO[bytes] | None = None


async def run_into(program: Program, sink: Sink, *, timeout_s: float, name: str) -> tuple[int, str]:
    """The exit code, and the last that it said on standard error; what it printed goes to ``sink``.

    Raises:
        UnsupportedOperation: it cannot be started.
        LimitExceeded: it printed more than may be taken, or took too long.
    """
    process = await _started(program, name)
    try:
        async with asyncio.timeout(timeout_s):
            assert process.stderr is not None
            said, _ = await asyncio.gather(_last_words(process.stderr), _keep(process, sink))
            return await process.wait(), said
    except TimeoutError:
        raise LimitExceeded(f"{name} took too long and was ended", expected=f"at most {timeout_s:g} s") from None
    finally:
        kill_group(process.pid)
        await process.wait()


async def run_and_listen(program: Program, *, name: str) -> tuple[int, str]:
    """The exit code, and the last that it said on either output; it runs until it ends, or this is cancelled.

    Raises:
        UnsupportedOperation: it cannot be started.
    """
    process = await _started(program, name, errors_to=STDOUT)
    try:
        assert process.stdout is not None
        said = await _last_words(process.stdout)
        return await process.wait(), said
    finally:
        kill_group(process.pid)
        await process.wait()


async def _started(program: Program, name: str, errors_to: int = PIPE) -> Process:
    try:
        return await asyncio.create_subprocess_exec(
            *program.command,
            stdin=program.given or DEVNULL,
            stdout=PIPE,
            stderr=errors_to,
            env=program.environment,
            cwd=program.folder,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its words are none"
        raise UnsupportedOperation(f"{name} cannot be started: {reason}") from None


async def _keep(process: Process, sink: Sink) -> None:
    assert process.stdout is not None
    with sink:
        while piece := await process.stdout.read(READ_CHUNK_BYTES):
            await asyncio.to_thread(sink.write, piece)


async def _last_words(output: StreamReader) -> str:
    kept = b""
    while piece := await output.read(PROGRAM_WORDS_BYTES):
        kept = (kept + piece)[-PROGRAM_WORDS_BYTES:]
    return kept.decode(errors="replace").strip() or "it said nothing"
