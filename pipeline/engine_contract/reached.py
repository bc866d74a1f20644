"""An engine of another program, ready to be asked about one job: at its address, or in a container that is run for it.

A container sees the folders of that job and nothing else of this machine, where the reference puts them.
"""

from __future__ import annotations

import asyncio
import time
from asyncio import Task
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from opendatafabric.errors import EngineDied, EngineUnavailable
from opendatafabric.limits import ENGINE_START_S_MAX
from pipeline.containers import Container, PinnedImage, find_runtime, pinned_image
from pipeline.engine_contract.client import listens
from pipeline.engine_contract.elsewhere import EngineAddress, EnginePlace, EnginesElsewhere
from pipeline.engine_contract.methods import PORT
from pipeline.engine_records import MadeBy
from pipeline.program import Program, run_and_listen
from pipeline.worker_place import JobFolders

_GIVEN: Final = PurePosixPath("/opt/engine/in")
_MADE: Final = PurePosixPath("/opt/engine/out")
_ADDRESS_FORMAT: Final = "{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}"
_LOOK_EVERY_S: Final = 0.1
_LAST_WORDS_S: Final = 5


@dataclass(frozen=True, slots=True)
class ReachedEngine:
    """It is asked at ``address``, and calls the folders of the job ``given`` and ``made``."""

    address: str
    folders: JobFolders
    given: PurePosixPath
    made: PurePosixPath
    image: PinnedImage | None = None

    def made_by(self, name: str) -> MadeBy:
        """What is known of it: the contract has no question for versions."""
        image = None if self.image is None else self.image.digest
        return MadeBy.from_versions(name, {}, image=image, address=self.address)

    def path_of(self, file: Path) -> str:
        """What the engine calls a file of the job."""
        if file.is_relative_to(self.folders.given):
            return str(self.given / file.relative_to(self.folders.given))
        return str(self.made / file.relative_to(self.folders.made))


@asynccontextmanager
async def reached(
    place: EnginePlace, elsewhere: EnginesElsewhere, folders: JobFolders
) -> AsyncGenerator[ReachedEngine, None]:
    """The engine at ``place``, for the job that has these ``folders``. What was started for it ends with the context.

    Raises:
        EngineUnavailable: there is no container runtime, or it has no such image.
        EngineDied: the container ended before it listened, or while it was asked.
    """
    if isinstance(place, EngineAddress):
        given, made = PurePosixPath(folders.given), PurePosixPath(folders.made)
        yield ReachedEngine(place.address, folders, given, made)
        return
    runtime = find_runtime(elsewhere.container_runtime)
    image = await pinned_image(runtime, place.name)
    container = Container.named_after("odf-engine", runtime)
    async with _running(container, image, elsewhere.network, folders) as ended:
        address = await _address_when_it_listens(container, ended)
        yield ReachedEngine(address, folders, _GIVEN, _MADE, image)


@asynccontextmanager
async def _running(
    container: Container, image: PinnedImage, network: str | None, folders: JobFolders
) -> AsyncIterator[Task[tuple[int, str]]]:
    await asyncio.to_thread(_open_to_any_user, folders)
    command = container.command(
        f"--volume={folders.given}:{_GIVEN}:ro",
        f"--volume={folders.made}:{_MADE}",
        f"--publish=127.0.0.1::{PORT}",
        *([] if network is None else [f"--network={network}"]),
    )
    ended = asyncio.create_task(run_and_listen(Program([*command, image.id]), name=f"the engine {image.digest}"))
    try:
        yield ended
    except EngineDied:
        await asyncio.wait({ended}, timeout=_LAST_WORDS_S)
        if ended.done():
            raise _ended(ended) from None
        raise
    finally:
        ended.cancel()
        with suppress(asyncio.CancelledError):
            await ended
        await container.remove()


def _open_to_any_user(folders: JobFolders) -> None:
    """Whatever user the image has; to others of this machine the folder above is closed."""
    folders.given.chmod(0o755)
    folders.made.chmod(0o777)


async def _address_when_it_listens(container: Container, ended: Task[tuple[int, str]]) -> str:
    deadline = time.monotonic() + ENGINE_START_S_MAX
    while time.monotonic() < deadline:
        if ended.done():
            raise _ended(ended)
        address = await _address(container)
        if address is not None and await listens(address, timeout_s=1):
            return address
        await asyncio.sleep(_LOOK_EVERY_S)
    raise EngineUnavailable(f"the engine in {container.name} does not listen on port {PORT}")


async def _address(container: Container) -> str | None:
    """Where its port was published; in networks without a way out it is not, but the container can be reached."""
    published = await container.ask("port", container.name, f"{PORT}/tcp")
    if published:
        return published.splitlines()[0]
    found = (await container.ask("container", "inspect", "--format", _ADDRESS_FORMAT, container.name) or "").split()
    return f"{found[0]}:{PORT}" if found else None


def _ended(ended: Task[tuple[int, str]]) -> EngineDied:
    code, said = ended.result()
    return EngineDied(f"the container of the engine ended with code {code}: {said}")
