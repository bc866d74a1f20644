"""Container: a program in an image prints the records, and says in files where it left off.

The protocol is that of the reference: the state of before and the wanted number of records are variables, the new state
and whether there is more are files of a folder that is mounted.
"""

from __future__ import annotations

import asyncio
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from opendatafabric.errors import (
    AccessDenied,
    MalformedManifest,
    MalformedSource,
    PeerUnavailable,
    ProtocolViolation,
)
from opendatafabric.instant import Instant
from opendatafabric.metadata.slices import SourceState
from opendatafabric.metadata.sources import EnvVar, FetchStepContainer
from opendatafabric.source_limits import (
    CONTAINER_STATE_BYTES_MAX,
    FETCH_RECORDS_TARGET,
    FETCH_S_MAX,
)
from pipeline.containers import Container, find_runtime, is_image_name
from pipeline.fetch.fetched import ETAG, LAST_MODIFIED, Fetched, FetchOptions, state_of
from pipeline.fetch.places import check_private
from pipeline.fetch.sink import Sink
from pipeline.fetch.templates import resolve
from pipeline.program import Program, run_into

_MOUNTED: Final = "/opt/odf/out"
_NEW_ETAG, _NEW_LAST_MODIFIED, _HAS_MORE = "new-etag", "new-last-modified", "new-has-more-data"
_BATCH_SIZE: Final = "ODF_BATCH_SIZE"
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECRET_CHARACTERS_MIN: Final = 4


async def fetch_container(
    step: FetchStepContainer, state: SourceState | None, folder: Path, options: FetchOptions
) -> Fetched | None:
    """What the container prints; errors as ``fetch``."""
    check_private(options, step.image)
    image = _checked_image(resolve(step.image, options.variables))
    container = Container.named_after("odf-fetch", find_runtime(options.container_runtime))
    run = _Run(folder / "out", folder / "environment")
    variables = _variables(step, state, options)
    run.prepare(variables)
    command = [
        *container.command(*run.options(variables), *_entry_point(step)),
        image,
        *(resolve(each, options.variables) for each in step.args or ()),
    ]
    sink = Sink(folder / "fetched", step.image, options.progress)
    try:
        code, said = await run_into(
            Program(command), sink, timeout_s=FETCH_S_MAX, name=f"the container of {step.image}"
        )
    finally:
        await container.remove()
    if code != 0:
        raise PeerUnavailable(f"the container of {step.image} ended with code {code}: {_redacted(said, options)}")
    return await asyncio.to_thread(_fetched, run.out, sink, state)


@dataclass(frozen=True, slots=True)
class _Run:
    """What a container is given: a folder to write to, and a file of variables."""

    out: Path
    environment: Path

    def prepare(self, variables: dict[str, str]) -> None:
        """The folder that is mounted is open to whatever user the image has; values are kept out of sight."""
        self.out.mkdir()
        self.out.chmod(0o777)
        lines = (f"{name}={value}\n" for name, value in variables.items() if "\n" not in value)
        with os.fdopen(os.open(self.environment, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.writelines(lines)

    def options(self, variables: dict[str, str]) -> list[str]:
        """The file of variables knows no values of several lines."""
        several = [f"--env={name}={value}" for name, value in variables.items() if "\n" in value]
        return [f"--volume={self.out}:{_MOUNTED}", f"--env-file={self.environment}", *several]


def _checked_image(image: str) -> str:
    if not is_image_name(image):
        raise MalformedManifest("the image of the source is no name of an image")
    return image


def _entry_point(step: FetchStepContainer) -> list[str]:
    return [] if not step.command else [f"--entrypoint={' '.join(step.command)}"]


def _variables(step: FetchStepContainer, state: SourceState | None, options: FetchOptions) -> dict[str, str]:
    """Those of the step, then ours, which it cannot replace but for the size of a batch."""
    found = {_BATCH_SIZE: str(FETCH_RECORDS_TARGET)}
    for each in step.env or ():
        if _VARIABLE.fullmatch(each.name) is None:
            raise MalformedManifest(f"'{each.name}' is no name of a variable")
        found[each.name] = _value(each, options)
    if re.fullmatch(r"\d{1,9}", found[_BATCH_SIZE], re.ASCII) is None:
        raise MalformedManifest(f"{_BATCH_SIZE} is no number of records")
    left = {} if state is None else {state.kind: state.value}
    return found | {
        "ODF_ETAG": left.get(ETAG, ""),
        "ODF_LAST_MODIFIED": left.get(LAST_MODIFIED, ""),
        "ODF_NEW_ETAG_PATH": f"{_MOUNTED}/{_NEW_ETAG}",
        "ODF_NEW_LAST_MODIFIED_PATH": f"{_MOUNTED}/{_NEW_LAST_MODIFIED}",
        "ODF_NEW_HAS_MORE_DATA_PATH": f"{_MOUNTED}/{_HAS_MORE}",
    }


def _value(variable: EnvVar, options: FetchOptions) -> str:
    name = variable.name
    if variable.value is not None:
        return resolve(variable.value, options.variables)
    if name not in options.variables:
        raise AccessDenied(f"the container wants the variable {name}", hint=f"set it, and allow it: --allow-env {name}")
    return options.variables[name]


def _fetched(out: Path, sink: Sink, state: SourceState | None) -> Fetched | None:
    new_state = _new_state(out)
    if sink.size == 0 and new_state in {None, state}:
        return None
    if new_state is not None and new_state == state:
        raise ProtocolViolation("the container printed records, and says that it is where it was")
    return Fetched(sink.target, new_state, has_more=(out / _HAS_MORE).is_file())


def _new_state(out: Path) -> SourceState | None:
    if (etag := _read(out / _NEW_ETAG)) is not None:
        return state_of(ETAG, etag)
    if (modified := _read(out / _NEW_LAST_MODIFIED)) is not None:
        return state_of(LAST_MODIFIED, str(Instant.from_rfc3339(modified.strip())))
    return None


def _read(path: Path) -> str | None:
    """What the container wrote there itself: links would lead to files of this machine."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            text = file.read(CONTAINER_STATE_BYTES_MAX + 1)
        if len(text) <= CONTAINER_STATE_BYTES_MAX:
            return text.decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError):
        pass
    raise MalformedSource(
        f"the container left no readable {path.name}", expected=f"text of at most {CONTAINER_STATE_BYTES_MAX} bytes"
    )


def _redacted(said: str, options: FetchOptions) -> str:
    for value in sorted(options.variables.values(), key=len, reverse=True):
        said = said.replace(value, "…") if len(value) >= _SECRET_CHARACTERS_MIN else said
    return said
