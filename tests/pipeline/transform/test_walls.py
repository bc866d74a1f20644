"""Queries of strangers behind two walls: each thing they may not do is done by a derivative's step and by its replay.

The gate refuses it by itself, the sandbox refuses it where the gate is left out, and where both are gone it succeeds:
so each test means something. Worker, engine and jobs are those that are shipped; only walls are broken on purpose.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from opendatafabric.errors import InvalidQuery, OdfError
from opendatafabric.metadata.events import SetTransform
from opendatafabric.metadata.transform import SqlQueryStep, TransformInput, TransformSql
from pipeline.sandbox import landlock_version
from pipeline.worker_client import WorkerClient
from pipeline.worker_place import JobFolders, WorkerOptions
from tests.pipeline.local_engine import LocalEngine
from tests.pipeline.transform.broken_walls import HERE, WITH_UNGATED
from tests.pipeline.transform.derived import Workshop, id_of
from verify.replay import Replay
from verify.replayed import StepVerdict
from verify.report import Verdict
from verify.verification import verify_dataset

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("walls"),
    pytest.mark.skipif(
        landlock_version() == 0 or subprocess.run(["unshare", "-Urnp", "--fork", "true"], check=False).returncode != 0,
        reason="this kernel has no Landlock or allows no user namespaces",
    ),
]
TIME = "timestamp'2024-01-01 00:00:00' as event_time"
SECRET = "what nobody is to know"


def told_by(command: str) -> tuple[str, ...]:
    """A query that runs a command of the shell and gives what it prints."""
    transform = f'select transform(city) using "{command}" as (got string) from cities'
    return (f"select {TIME}, got from ({transform})",)


@dataclass(frozen=True)
class Attempt:
    """Queries that try something; ``shows`` is among the values if they succeed, ``file`` is there then."""

    queries: tuple[str, ...]
    shows: str = ""
    file: str | None = None
    engine: str = "spark"


ATTEMPTS = {
    "reading a file": Attempt(told_by("cat {place}/secret.csv"), SECRET),
    "reading a file as a table": Attempt(
        (
            "create or replace temporary view stolen using text options (path '{place}/secret.csv')",
            f"select {TIME}, value as got from stolen",
        ),
        SECRET,
    ),
    "listing a folder": Attempt(told_by("ls {place}"), "secret.csv"),
    "writing a file": Attempt(told_by("tee {place}/written"), "kyiv", file="written"),
    "writing a table": Attempt(
        (
            "insert overwrite local directory '{place}/table' using csv select city from cities",
            f"select {TIME}, city as got from cities",
        ),
        "kyiv",
        file="table",
    ),
    "opening a socket": Attempt(told_by("exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected"), "connected"),
    "running what it wrote": Attempt(
        told_by("printf 'echo ran' > program; chmod +x program; ./program"), "ran"
    ),
    "reading the environment of another process": Attempt(told_by("cat /proc/{process}/environ"), SECRET),
    "sending a signal to another process": Attempt(told_by("kill -0 {process} && echo reached"), "reached"),
    "reading a file with DataFusion": Attempt(
        (
            "create external table stolen (got varchar) stored as csv location '{place}/secret.csv'"
            " options ('format.has_header' 'false')",
            "select timestamp '2024-01-01' as event_time, got from stolen",
        ),
        SECRET,
        engine="datafusion",
    ),
    "writing a file with DataFusion": Attempt(
        (
            "copy (select city from cities) to '{place}/copied.csv' stored as csv",
            "select timestamp '2024-01-01' as event_time, cast(count as varchar) as got from step_0",
        ),
        "1",
        file="copied.csv",
        engine="datafusion",
    ),
}  # fmt: skip
BY_SESSION = Attempt(
    (f"select {TIME}, reflect('java.lang.System', 'getProperty', 'java.vm.name') as got from cities",), "VM"
)
"""What the session itself has no function for."""

BY_GATE = Attempt(
    (
        "set spark.sql.ansi.enabled=false",
        "select 1 / 0 as one_by_none from cities",
        "set spark.sql.ansi.enabled=true",
        f"select {TIME}, coalesce(cast(one_by_none as string), 'changed') as got from step_1",
    ),
    "changed",
)
"""What only the gate refuses, since it reaches nothing outside."""


@dataclass(frozen=True)
class Jobs:
    """Those of a worker, for queries of strangers."""

    client: WorkerClient
    gated: bool = True

    def folders(self) -> AbstractContextManager[JobFolders]:
        return self.client.folders()

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return await self.client.run(job if self.gated else f"ungated-{job}", arguments, foreign=True)


@pytest.fixture(scope="module")
def workers(java_and_pyspark: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, WorkerClient]]:
    """One as it is shipped, one without a sandbox; whoever starts them has a secret in the environment."""
    options = {"jobs": WITH_UNGATED, "heap_bytes": 1024**3}
    made = {
        "shipped": WorkerClient(tmp_path_factory.mktemp("shipped"), WorkerOptions(**options)),
        "outside": WorkerClient(tmp_path_factory.mktemp("outside"), WorkerOptions(**options, engine=HERE)),
    }
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("ODF_TEST_SECRET", SECRET)
        yield made
    for client in made.values():
        asyncio.run(client.end())


@pytest.fixture
def bystander() -> Iterator[int]:
    """Another process of the same user, with a secret in its environment."""
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, env={"SECRET": SECRET}) as process:
        yield process.pid


@pytest.fixture
def words(tmp_path: Path, bystander: int) -> Iterator[dict[str, object]]:
    """What attempts are told of the world."""
    (tmp_path / "place").mkdir()
    (tmp_path / "place" / "secret.csv").write_text(SECRET + "\n")
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield {"place": tmp_path / "place", "port": server.getsockname()[1], "process": bystander}


@pytest.fixture
async def workshop(tmp_path: Path) -> Workshop:
    """One city."""
    (tmp_path / "files").mkdir()
    workshop = Workshop(LocalEngine(tmp_path / "engine"), tmp_path / "files")
    await workshop.add_cities()
    await workshop.push("cities", on=2, kyiv=30)
    return workshop


def transform_of(attempt: Attempt, words: dict[str, object]) -> SetTransform:
    """Of its queries; those before the last are called ``step_0`` and so on."""
    texts = [text.format_map(words) for text in attempt.queries]
    steps = [SqlQueryStep(f"step_{number}", text) for number, text in enumerate(texts[:-1])]
    sql = TransformSql(attempt.engine, queries=(*steps, SqlQueryStep(query=texts[-1])))
    return SetTransform((TransformInput(id_of("cities"), "cities"),), sql)


@dataclass
class Tried:
    """An attempt with each kind of engine, on a derivative of its own."""

    workshop: Workshop
    attempt: Attempt
    words: dict[str, object]

    async def pulled(self, engine: Jobs, name: str) -> list[str]:
        """What the derivative has got after its step."""
        await self.workshop.add(name, transform_of(self.attempt, self.words))
        self.workshop.engine = engine
        await self.workshop.step(name, on=3)
        return [str(row["got"]) for row in await self.workshop.rows(name, "got")]

    async def verdict(self, engine: Jobs, name: str) -> tuple[Verdict, StepVerdict, str]:
        """Of replay; and what it says of the step."""
        report = await verify_dataset(self.workshop.datasets[name], Replay(self.workshop.find, engine))
        (step,) = report.steps or ()
        return report.verdict, step.verdict, " ".join(each.message for each in step.differences)

    def left(self) -> Path | None:
        """The file that it leaves, if it succeeds."""
        name = self.attempt.file
        return None if name is None else Path(str(self.words["place"])) / name

    def is_done(self) -> bool:
        """Whether that file is there; it is taken away, or at least its name."""
        file = self.left()
        if file is None or not file.exists():
            return False
        file.rename(file.with_name(f"{file.name}-of-before-{len(list(file.parent.iterdir()))}"))
        return True


UNDECIDED = (Verdict.ERROR, StepVerdict.ENGINE_ERROR)


@pytest.mark.parametrize("name", ATTEMPTS)
async def test_each_wall_alone_holds_and_without_them_it_is_done(
    workers: dict[str, WorkerClient], workshop: Workshop, words: dict[str, object], name: str
) -> None:
    tried = Tried(workshop, ATTEMPTS[name], words)
    succeeds = tried.attempt.file is not None
    assert tried.attempt.shows in " ".join(await tried.pulled(Jobs(workers["outside"], gated=False), "open"))
    assert tried.is_done() == succeeds
    for engine, wall in [("outside", "gated"), ("shipped", "walled")]:
        head = await workshop.datasets["open"].head()
        with pytest.raises(OdfError):
            await tried.pulled(Jobs(workers[engine], gated=wall == "gated"), wall)
        assert await workshop.steps(wall) == []
        assert await workshop.datasets["open"].head() == head
        assert not tried.is_done()
    assert (await tried.verdict(Jobs(workers["shipped"], gated=False), "open"))[:2] == UNDECIDED
    assert (await tried.verdict(Jobs(workers["shipped"]), "open"))[:2] == UNDECIDED
    assert not tried.is_done()
    if tried.attempt.engine == "spark":
        assert (await tried.verdict(Jobs(workers["outside"], gated=False), "open"))[0] is Verdict.VALID


@pytest.mark.parametrize("attempt", [BY_SESSION, BY_GATE], ids=["calling Java", "changing a setting"])
async def test_what_reaches_nothing_outside_is_refused_by_the_gate(
    workers: dict[str, WorkerClient], workshop: Workshop, words: dict[str, object], attempt: Attempt
) -> None:
    tried = Tried(workshop, attempt, words)
    assert attempt.shows in " ".join(await tried.pulled(Jobs(workers["outside"], gated=False), "open"))
    with pytest.raises(InvalidQuery):
        await tried.pulled(Jobs(workers["outside"]), "gated")
    verdict = await tried.verdict(Jobs(workers["shipped"]), "open")
    assert verdict[:2] == UNDECIDED
    assert "the query uses" in verdict[2]


async def test_the_session_has_no_function_that_calls_java(
    workers: dict[str, WorkerClient], workshop: Workshop, words: dict[str, object]
) -> None:
    with pytest.raises(InvalidQuery, match="reflect"):
        await Tried(workshop, BY_SESSION, words).pulled(Jobs(workers["shipped"], gated=False), "walled")


async def test_a_command_sees_an_environment_without_secrets(
    workers: dict[str, WorkerClient], workshop: Workshop, words: dict[str, object]
) -> None:
    tried = Tried(workshop, Attempt(told_by("env")), words)
    lines = await tried.pulled(Jobs(workers["shipped"], gated=False), "walled")
    assert {line.partition("=")[0] for line in lines} <= {
        *("PATH", "HOME", "TZ", "LC_ALL", "PWD", "OLDPWD", "SHLVL", "_"),
        *("SPARK_HOME", "SPARK_LOCAL_IP", "_PYSPARK_DRIVER_CONN_INFO_PATH", "OMP_NUM_THREADS"),
    }


def running(mark: str) -> list[int]:
    """Processes whose command line has that word."""
    found = []
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if process.name.isdigit() and mark.encode() in (process / "cmdline").read_bytes().split(b"\0"):
                found.append(int(process.name))
    return found


async def test_a_process_that_is_to_stay_ends_with_the_engine(
    workers: dict[str, WorkerClient], workshop: Workshop, words: dict[str, object]
) -> None:
    marks = {name: f"6000{number}.{words['port']}" for number, name in enumerate(workers)}
    for name, client in workers.items():
        tried = Tried(workshop, Attempt(told_by(f"setsid sleep {marks[name]} > /dev/null 2>&1 & echo started")), words)
        assert await tried.pulled(Jobs(client, gated=False), name) == ["started"]
        assert len(running(marks[name])) == 1
        await client.end()
    async with asyncio.timeout(60):
        while running(marks["shipped"]):  # noqa: ASYNC110 - there is no event of it
            await asyncio.sleep(0.02)
    (stayed,) = running(marks["outside"])
    os.kill(stayed, signal.SIGKILL)
