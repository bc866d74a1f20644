"""Containers: the words that runtimes are asked in, and which image it is that they run."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from opendatafabric.errors import EngineUnavailable
from pipeline.containers import Container, PinnedImage, find_runtime, pinned_image
from tests.pipeline.container_runtime import FakeRuntime

OPTIONS_OF_RUN = (
    "--entrypoint", "--env", "--env-file", "--name", "--network", "--publish", "--rm", "--security-opt", "--volume"
)  # fmt: skip


@pytest.fixture
def runtime(tmp_path: Path) -> FakeRuntime:
    return FakeRuntime.installed_in(tmp_path / "runtime")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("digests", "expected"),
    [
        (("a.example/other@sha256:11", "b.example/engine@sha256:22"), "b.example/engine@sha256:22"),
        (("a.example/other@sha256:11",), "a.example/other@sha256:11"),
        ((), "b.example/engine@sha256:b.example-engine-1"),
    ],
    ids=["that of its repository", "that of another", "none: the hash of the image itself"],
)
async def test_an_image_is_known_by_its_digest(runtime: FakeRuntime, digests: tuple[str, ...], expected: str) -> None:
    runtime.image("b.example-engine-1", "true", digests=digests)
    found = await pinned_image(str(runtime.program), "b.example/engine:1")
    assert found == PinnedImage("b.example-engine-1", expected)


@pytest.mark.slow
async def test_an_image_that_is_not_here_is_fetched_once(runtime: FakeRuntime) -> None:
    runtime.image("engine", "true", is_here=False)
    for _ in range(2):
        await pinned_image(str(runtime.program), "engine")
    assert [words for words in runtime.asked if words[0] == "pull"] == [["pull", "--quiet", "engine"]]


@pytest.mark.slow
async def test_an_image_that_is_nowhere_is_told_in_the_words_of_the_runtime(runtime: FakeRuntime) -> None:
    with pytest.raises(EngineUnavailable, match="the image none cannot be had: manifest unknown"):
        await pinned_image(str(runtime.program), "none")


async def test_a_runtime_that_cannot_be_run_says_nothing(tmp_path: Path) -> None:
    assert await Container(str(tmp_path / "none"), "name").ask("port", "name") is None


def test_without_a_runtime_it_is_said_what_is_missing() -> None:
    with pytest.raises(EngineUnavailable, match="no-such-program"):
        find_runtime("no-such-program")


@pytest.mark.slow
def test_real_runtimes_take_our_words() -> None:
    programs = [program for program in ("podman", "docker") if shutil.which(program)]
    if not programs:
        pytest.skip("neither podman nor docker is installed (Debian: apt-get install podman)")

    def helped(*words: str) -> str:
        return subprocess.run([*words, "--help"], capture_output=True, text=True, check=False).stdout

    for program in programs:
        assert [option for option in OPTIONS_OF_RUN if f"{option} " not in helped(program, "run")] == []
        assert "--quiet" in helped(program, "pull")
        assert "--force" in helped(program, "rm")
        assert "--format" in helped(program, "image", "inspect")
        assert "--format" in helped(program, "container", "inspect")
        assert "PORT" in helped(program, "port")
