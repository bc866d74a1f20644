"""Programs whose output becomes a file."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from opendatafabric.errors import LimitExceeded, UnsupportedOperation
from pipeline.fetch import sink
from pipeline.fetch.sink import Sink
from pipeline.program import Program, run_into


async def run(folder: Path, script: str, *, timeout_s: float = 10) -> tuple[int, str]:
    """A script of the shell, its output in ``out``."""
    program = Program(["/bin/sh", "-c", script])
    return await run_into(program, Sink(folder / "out", "x"), timeout_s=timeout_s, name="the program")


async def ended(process: str) -> None:
    """Until it is gone, or only waits to be counted: a killed process dies when it is next given a turn."""
    async with asyncio.timeout(30):
        while not has_ended(Path("/proc", process, "stat")):  # noqa: ASYNC110  there is no event of it
            await asyncio.sleep(0.01)


def has_ended(stat: Path) -> bool:
    try:
        return stat.read_text().split()[2] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


async def test_what_it_prints_is_kept_and_what_it_complains_of_is_told(tmp_path: Path) -> None:
    assert await run(tmp_path, "echo out; echo bad >&2; exit 7") == (7, "bad")
    assert (tmp_path / "out").read_text() == "out\n"


async def test_it_reads_what_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("abc")
    with (tmp_path / "in").open("rb") as given:
        program = Program(["/bin/cat"], given=given)
        await run_into(program, Sink(tmp_path / "out", "x"), timeout_s=10, name="x")
    assert (tmp_path / "out").read_text() == "abc"


async def test_of_long_complaints_the_end_is_kept(tmp_path: Path) -> None:
    _, said = await run(tmp_path, "head -c 100000 /dev/zero | tr '\\0' x >&2; echo end >&2")
    assert len(said) <= 2_000
    assert said.endswith("xend")


async def test_one_that_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    with pytest.raises(LimitExceeded, match="too long"):
        await run(tmp_path, "sleep 100 & echo $!; wait", timeout_s=0.2)
    await ended((tmp_path / "out").read_text().strip())


async def test_one_that_prints_too_much_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink, "FETCH_BYTES_MAX", 100)
    with pytest.raises(LimitExceeded, match="too much"):
        await run(tmp_path, "while true; do echo x; done")


async def test_one_that_is_cancelled_is_ended(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await run(tmp_path, "echo $$; exec sleep 100")
    await ended((tmp_path / "out").read_text().strip())


async def test_what_is_no_program_is_said_to_be_so(tmp_path: Path) -> None:
    for command in ([tmp_path / "nothing"], [tmp_path], [sys.executable, "a\0b"]):
        with pytest.raises(UnsupportedOperation, match="cannot be started"):
            await run_into(Program(command), Sink(tmp_path / "out", "x"), timeout_s=1, name="it")
