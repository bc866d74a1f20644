"""Containers by the protocol of the reference, with a program that behaves as a runtime, and the words of real ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from opendatafabric.errors import (
    AccessDenied,
    EngineUnavailable,
    LimitExceeded,
    MalformedInput,
    MalformedManifest,
    MalformedSource,
    PeerUnavailable,
    ProtocolViolation,
    UnsupportedOperation,
)
from opendatafabric.metadata.sources import EnvVar, FetchStepContainer, ReadStepCsv
from pipeline.fetch import FetchOptions, container, fetch, sink
from pipeline.fetch.fetched import ETAG, LAST_MODIFIED, state_of
from tests.pipeline.container_runtime import FakeRuntime
from tests.pipeline.polling import poller

COUNTING = """
from=${ODF_ETAG:-0}
to=$((from + ODF_BATCH_SIZE))
last=$(cat "$1")
if [ $to -gt $last ]; then to=$last; else touch "$ODF_NEW_HAS_MORE_DATA_PATH"; fi
printf %s $to > "$ODF_NEW_ETAG_PATH"
while [ $from -lt $to ]; do from=$((from + 1)); echo $from; done
"""
"""Gives the numbers up to the one in a file, so many at a time."""

pytestmark = pytest.mark.slow


@dataclass
class Runtime(FakeRuntime):
    """With ``options`` it is asked for."""

    options: FetchOptions


@pytest.fixture
def runtime(tmp_path: Path) -> Runtime:
    """One without images."""
    found = FakeRuntime.installed_in(tmp_path / "runtime")
    options = FetchOptions({"KEY": "top-secret", "LINES": "a\nb"}, container_runtime=str(found.program))
    return Runtime(found.program, found.images, options)


async def printed(step: FetchStepContainer, runtime: Runtime, folder: Path) -> str:
    """What a first poll gives."""
    found = await fetch(step, None, folder, runtime.options)
    assert found is not None
    return found.file.read_text()


async def test_a_polled_container_from_its_first_day_to_its_last(runtime: Runtime, tmp_path: Path) -> None:
    runtime.image("count", COUNTING)
    last = tmp_path / "last"
    last.write_text("3")
    step = FetchStepContainer("count", args=(str(last),), env=(EnvVar("ODF_BATCH_SIZE", "2"),))
    polled = await poller(tmp_path, step, ReadStepCsv(schema=("n INT",)))
    polled.options = runtime.options
    assert [outcome.answer.rows.appended for outcome in await polled.poll()] == [2, 1]
    assert await polled.state() == state_of(ETAG, "3")
    head = await polled.head()
    assert (await polled.poll(), await polled.head()) == ([], head)
    last.write_text("4")
    await polled.die_in_the_middle()
    assert await polled.head() == head
    assert len(await polled.poll()) == 1
    assert await polled.records("n") == [(1,), (2,), (3,), (4,)]
    head = await polled.head()
    (runtime.images / "count").unlink()
    with pytest.raises(PeerUnavailable, match="no such image"):
        await polled.poll()
    assert await polled.head() == head


async def test_the_variables_are_those_of_the_step_and_of_the_protocol(runtime: Runtime, tmp_path: Path) -> None:
    runtime.image("env", "env | grep -v '^PWD\\|^SHLVL\\|^_=\\|^PATH' | sort; echo $#$1")
    variables = (EnvVar("KEY"), EnvVar("A", "a ${{ env.KEY }}"), EnvVar("LINES"), EnvVar("ODF_ETAG", "forged"))
    step = FetchStepContainer("${{ 'env' }}", args=("${{ env.KEY }} x",), env=variables)
    text = await printed(step, runtime, tmp_path)
    out = tmp_path / "out"
    assert text.splitlines() == [
        "A=a top-secret", "KEY=top-secret", "LINES=a", "ODF_BATCH_SIZE=10000", "ODF_ETAG=", "ODF_LAST_MODIFIED=",
        f"ODF_NEW_ETAG_PATH={out}/new-etag", f"ODF_NEW_HAS_MORE_DATA_PATH={out}/new-has-more-data",
        f"ODF_NEW_LAST_MODIFIED_PATH={out}/new-last-modified", "b", "1top-secret x",
    ]  # fmt: skip
    assert "top-secret" not in " ".join(word for word in runtime.asked[0] if word.startswith("--"))


async def test_the_command_is_the_entry_point(runtime: Runtime, tmp_path: Path) -> None:
    runtime.image("do it", "echo done $1")
    assert await printed(FetchStepContainer("any:1", ("do", "it"), ("x",)), runtime, tmp_path) == "done x\n"


async def test_a_time_may_be_the_state(runtime: Runtime, tmp_path: Path) -> None:
    runtime.image(
        "time", "echo ${ODF_LAST_MODIFIED:-new}; echo 2024-01-02T03:04:05+01:00 > $ODF_NEW_LAST_MODIFIED_PATH"
    )
    found = await fetch(FetchStepContainer("time"), None, tmp_path, runtime.options)
    assert found is not None
    assert found.state == state_of(LAST_MODIFIED, "2024-01-02T02:04:05Z")
    (tmp_path / "b").mkdir()
    with pytest.raises(ProtocolViolation, match="where it was"):
        await fetch(FetchStepContainer("time"), found.state, tmp_path / "b", runtime.options)
    assert (tmp_path / "b" / "fetched").read_text() == "2024-01-02T02:04:05Z\n"


async def test_a_container_that_says_nothing_at_all_has_nothing_new(runtime: Runtime, tmp_path: Path) -> None:
    runtime.image("nothing", "true")
    assert await fetch(FetchStepContainer("nothing"), None, tmp_path, runtime.options) is None


async def test_a_failure_is_told_in_its_own_words_without_secrets(runtime: Runtime, tmp_path: Path) -> None:
    runtime.image("fail", "echo 1; echo no way with $KEY >&2; exit 3")
    with pytest.raises(PeerUnavailable, match="code 3: no way with …"):
        await fetch(FetchStepContainer("fail", env=(EnvVar("KEY"),)), None, tmp_path, runtime.options)


async def test_a_container_is_removed_whatever_became_of_it(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(container, "FETCH_S_MAX", 0.3)
    runtime.image("hang", "exec sleep 60")
    with pytest.raises(LimitExceeded, match="too long"):
        await fetch(FetchStepContainer("hang"), None, tmp_path, runtime.options)
    assert runtime.all_were_removed()


async def test_a_container_that_prints_too_much_is_ended(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sink, "FETCH_BYTES_MAX", 1_000)
    runtime.image("shout", "while true; do echo x; done")
    with pytest.raises(LimitExceeded, match="too much"):
        await fetch(FetchStepContainer("shout"), None, tmp_path, runtime.options)


@pytest.mark.parametrize(
    "script",
    [
        "ln -s /etc/passwd $ODF_NEW_ETAG_PATH",
        "mkdir $ODF_NEW_ETAG_PATH",
        "mkfifo $ODF_NEW_ETAG_PATH; chmod 0 $ODF_NEW_ETAG_PATH; ln -sf /dev/zero $ODF_NEW_ETAG_PATH",
        "head -c 70000 /dev/zero > $ODF_NEW_ETAG_PATH",
        "printf '\\377' > $ODF_NEW_ETAG_PATH",
    ],
)
async def test_a_state_that_is_no_text_is_refused(runtime: Runtime, tmp_path: Path, script: str) -> None:
    runtime.image("state", f"echo 1; {script}")
    with pytest.raises(MalformedSource, match="new-etag"):
        await fetch(FetchStepContainer("state"), None, tmp_path, runtime.options)


async def test_a_time_that_is_none_is_refused(runtime: Runtime, tmp_path: Path) -> None:
    runtime.image("state", "echo 1; echo yesterday > $ODF_NEW_LAST_MODIFIED_PATH")
    with pytest.raises(MalformedInput):
        await fetch(FetchStepContainer("state"), None, tmp_path, runtime.options)


@pytest.mark.parametrize(
    ("fields", "family"),
    [
        ({"image": "--privileged"}, MalformedManifest),
        ({"image": "a b"}, MalformedManifest),
        ({"image": ""}, MalformedManifest),
        ({"image": "a", "env": (EnvVar("A=B", "c"),)}, MalformedManifest),
        ({"image": "a", "env": (EnvVar("ODF_BATCH_SIZE", "many"),)}, MalformedManifest),
        ({"image": "a", "env": (EnvVar("UNKNOWN"),)}, AccessDenied),
        ({"image": "a", "args": ("a\0b",)}, UnsupportedOperation),
    ],
)
async def test_what_is_no_container_is_refused(
    runtime: Runtime, tmp_path: Path, fields: dict[str, Any], family: type[Exception]
) -> None:
    with pytest.raises(family):
        await fetch(FetchStepContainer(**fields), None, tmp_path, runtime.options)


async def test_without_a_runtime_it_is_said_what_is_missing(runtime: Runtime, tmp_path: Path) -> None:
    options = replace(runtime.options, container_runtime="no-such-program")
    with pytest.raises(EngineUnavailable, match="no-such-program"):
        await fetch(FetchStepContainer("a"), None, tmp_path, options)


async def test_strangers_get_nothing_run_here(runtime: Runtime, tmp_path: Path) -> None:
    with pytest.raises(AccessDenied):
        await fetch(FetchStepContainer("a"), None, tmp_path, replace(runtime.options, private_places=False))
