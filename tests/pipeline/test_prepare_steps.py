"""Steps one after another; commands of sources run only where they are allowed, and only between walls."""

from __future__ import annotations

import gzip
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from opendatafabric.errors import AccessDenied, EngineUnavailable, LimitExceeded, MalformedManifest, MalformedSource
from opendatafabric.metadata.sources import (
    CompressionFormat,
    FetchStepUrl,
    PrepStepDecompress,
    PrepStepPipe,
    ReadStepCsv,
)
from pipeline import prepare_steps
from pipeline.fetch import FetchOptions, sink
from pipeline.prepare_steps import prepare_file
from pipeline.sandbox import landlock_version
from tests.pipeline.polling import poller

GZIP = PrepStepDecompress(CompressionFormat.GZIP)
ALLOWED = FetchOptions(pipes=True)
walled = [
    pytest.mark.slow,
    pytest.mark.skipif(
        landlock_version() == 0 or subprocess.run(["unshare", "-Urn", "true"], check=False).returncode != 0,
        reason="this kernel has no Landlock or allows no user namespaces",
    ),
]


def given(folder: Path, data: bytes = b"b\na\n") -> Path:
    """What a source gave."""
    file = folder / "given"
    file.write_bytes(data)
    return file


def shell(script: str) -> PrepStepPipe:
    """A command."""
    return PrepStepPipe(("sh", "-c", script))


async def test_without_steps_the_file_stays_what_it_is(tmp_path: Path) -> None:
    file = given(tmp_path)
    assert await prepare_file(file, (), tmp_path, FetchOptions()) == file


async def test_steps_go_one_after_another(tmp_path: Path) -> None:
    file = given(tmp_path, gzip.compress(gzip.compress(b"text")))
    assert (await prepare_file(file, (GZIP, GZIP), tmp_path, FetchOptions())).read_bytes() == b"text"


async def test_commands_run_only_where_they_are_allowed(tmp_path: Path) -> None:
    with pytest.raises(AccessDenied, match="not run"):
        await prepare_file(given(tmp_path), (shell("cat"),), tmp_path, FetchOptions())


@pytest.mark.parametrize("words", [(), ("a\0b",)])
async def test_what_is_no_command_is_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    with pytest.raises(MalformedManifest):
        await prepare_file(given(tmp_path), (PrepStepPipe(words),), tmp_path, ALLOWED)


@pytest.mark.slow
async def test_without_walls_nothing_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import pipeline.sandbox as s, sys; s.enter_sandbox = lambda **_: False; import pipeline.walled_command as w"
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{code}; sys.exit(w.main(sys.argv[3:]))" "$@"\n')
    program.chmod(0o755)
    monkeypatch.setattr(prepare_steps.sys, "executable", str(program))
    with pytest.raises(EngineUnavailable, match="no walls"):
        await prepare_file(given(tmp_path), (shell("touch run"),), tmp_path, ALLOWED)
    assert os.listdir(tmp_path / "prepared-0-work") == []


class TestWalled:
    pytestmark = walled

    async def test_the_file_goes_through_the_command(self, tmp_path: Path) -> None:
        steps = (GZIP, PrepStepPipe(("sort",)), shell("tr a-z A-Z"))
        found = await prepare_file(given(tmp_path, gzip.compress(b"b\na\n")), steps, tmp_path, ALLOWED)
        assert found.read_bytes() == b"A\nB\n"

    async def test_a_polled_file_goes_through_it_too(self, tmp_path: Path) -> None:
        source = FetchStepUrl(given(tmp_path, b"1\n2\n").as_uri())
        polled = await poller(tmp_path, source, ReadStepCsv(schema=("n INT",)), shell("grep -v 1"))
        with pytest.raises(AccessDenied):
            await polled.poll()
        await polled.poll(pipes=True)
        assert await polled.records("n") == [(2,)]

    async def test_it_may_write_in_a_folder_of_its_own(self, tmp_path: Path) -> None:
        found = await prepare_file(given(tmp_path), (shell("cat > x; sort x; pwd"),), tmp_path, ALLOWED)
        assert found.read_text() == f"a\nb\n{tmp_path}/prepared-0-work\n"

    async def test_a_failure_is_told_in_its_own_words(self, tmp_path: Path) -> None:
        with pytest.raises(MalformedSource, match="code 3: no good"):
            await prepare_file(given(tmp_path), (shell("echo no good >&2; exit 3"),), tmp_path, ALLOWED)

    async def test_a_command_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(MalformedSource, match="no-such-command: No such file"):
            await prepare_file(given(tmp_path), (PrepStepPipe(("no-such-command",)),), tmp_path, ALLOWED)

    @pytest.mark.parametrize("script", ["cat {folder}/secret", "ls {folder}", "cat /etc/shadow", "touch {folder}/x",
                                        "echo x > {folder}/given", "kill -0 {pid}"])  # fmt: skip
    async def test_it_reaches_nothing_of_the_user(self, tmp_path: Path, script: str) -> None:
        (tmp_path / "secret").write_text("secret")
        step = shell(script.format(folder=tmp_path, pid=os.getpid()))
        with pytest.raises(MalformedSource, match="ended with code"):
            await prepare_file(given(tmp_path), (step,), tmp_path, ALLOWED)

    async def test_it_reaches_no_network_and_knows_no_variables(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SECRET", "secret")
        with socket.create_server(("127.0.0.1", 0)) as server:
            connect = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 2)"
            found = await prepare_file(
                given(tmp_path), (shell(f'env; python3 -c "{connect}" || echo no'),), tmp_path, ALLOWED
            )
        assert found.read_text().endswith("no\n")
        assert "SECRET" not in found.read_text()

    async def test_its_time_and_output_are_bounded(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(prepare_steps, "PIPE_S_MAX", 0.5)
        with pytest.raises(LimitExceeded, match="too long"):
            await prepare_file(given(tmp_path), (shell("sleep 60"),), tmp_path, ALLOWED)
        monkeypatch.setattr(sink, "FETCH_BYTES_MAX", 100)
        (tmp_path / "b").mkdir()
        with pytest.raises(LimitExceeded, match="too much"):
            await prepare_file(given(tmp_path), (shell("while true; do echo x; done"),), tmp_path / "b", ALLOWED)

    async def test_its_memory_is_bounded(self, tmp_path: Path) -> None:
        found = await prepare_file(given(tmp_path), (shell("ulimit -v"),), tmp_path, ALLOWED)
        assert found.read_text() == f"{2 * 1024 * 1024}\n"
