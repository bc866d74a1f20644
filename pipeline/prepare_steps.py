"""Prepare steps: what a source gave, made readable, one step after another (spec: Prepare Step)."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from opendatafabric.errors import AccessDenied, EngineUnavailable, MalformedManifest, MalformedSource
from opendatafabric.metadata.sources import PrepStep, PrepStepDecompress, PrepStepPipe
from opendatafabric.source_limits import PIPE_S_MAX
from pipeline.fetch.fetched import FetchOptions
from pipeline.fetch.sink import Sink
from pipeline.program import Program, run_into
from pipeline.unpack import unpack
from pipeline.walled_command import NO_WALLS

_CODE: Final = Path(__file__).parent.parent


async def prepare_file(file: Path, steps: Sequence[PrepStep], folder: Path, options: FetchOptions) -> Path:
    """The file after all ``steps``; new files lie in ``folder``.

    Raises:
        MalformedSource: no such archive, damaged, or without the one member that is meant; or a command failed.
        LimitExceeded: it would become too large, or a command takes too long.
        AccessDenied: commands are not allowed.
        EngineUnavailable: this system has no walls to run commands in.
    """
    for number, step in enumerate(steps):
        target = folder / f"prepared-{number}"
        if isinstance(step, PrepStepDecompress):
            await asyncio.to_thread(unpack, file, step, target)
        else:
            await _pipe(file, step, target, options)
        file = target
    return file


async def _pipe(file: Path, step: PrepStepPipe, target: Path, options: FetchOptions) -> None:
    """The file goes through a command: it reads it from standard input, and prints the new one."""
    if not options.pipes:
        raise AccessDenied("commands of sources are not run here", hint="ODF_PIPES=true, for sources that you trust")
    if not step.command or any("\0" in word for word in step.command):
        raise MalformedManifest("the command of the source is none")
    work = target.with_name(f"{target.name}-work")
    work.mkdir()
    with file.open("rb") as given:
        program = Program(
            [sys.executable, "-P", "-m", "pipeline.walled_command", work, *step.command],
            {"PYTHONPATH": str(_CODE)},
            work,
            given,
        )
        sink = Sink(target, "as the command prints it")
        code, said = await run_into(program, sink, timeout_s=PIPE_S_MAX, name=f"the command {step.command[0]}")
    if code == NO_WALLS:
        raise EngineUnavailable("this system has no walls to run commands of sources in", hint="Linux with Landlock")
    if code != 0:
        raise MalformedSource(f"the command {step.command[0]} of the source ended with code {code}: {said}")
