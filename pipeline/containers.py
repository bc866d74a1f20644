"""Containers, run by podman or docker, whichever there is, and ended whatever became of who started them."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import shutil
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from opendatafabric.errors import EngineUnavailable, MalformedInput
from opendatafabric.source_limits import CONTAINER_COMMAND_S_MAX, IMAGE_PULL_S_MAX, PROGRAM_WORDS_BYTES

_RUNTIMES: Final = ("podman", "docker")
_IMAGE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]*")
_DESCRIPTION: Final = '{"id":{{json .Id}},"digests":{{json .RepoDigests}}}'


@dataclass(frozen=True, slots=True)
class Container:
    """By its name it can be ended, whatever became of the program that started it."""

    runtime: str
    name: str

    @classmethod
    def named_after(cls, purpose: str, runtime: str) -> Container:
        """A new one."""
        return cls(runtime, f"{purpose}-{secrets.token_hex(8)}")

    def command(self, *options: str) -> list[str]:
        """What runs it, up to the name of the image."""
        return [
            self.runtime,
            "run",
            "--rm",
            f"--name={self.name}",
            "--security-opt=no-new-privileges",
            *options,
        ]

    async def ask(self, *words: str) -> str | None:
        """What the runtime prints; ``None`` if it fails or takes too long."""
        code, printed = await _run([self.runtime, *words], CONTAINER_COMMAND_S_MAX)
        return printed if code == 0 else None

    async def remove(self) -> None:
        """End it, if it is still there."""
        await self.ask("rm", "--force", self.name)


@dataclass(frozen=True, slots=True)
class PinnedImage:
    """``id`` is what the runtime calls this very image, ``digest`` what others know it by: ``name@sha256:…``."""

    id: str
    digest: str


def find_runtime(wanted: str | None) -> str:
    """The program that is ``wanted``, or the first of the usual ones.

    Raises:
        EngineUnavailable: there is none.
    """
    names = (wanted,) if wanted else _RUNTIMES
    found = next((path for name in names if (path := shutil.which(name)) is not None), None)
    if found is None:
        raise EngineUnavailable(
            f"there is no container runtime: {' or '.join(names)}", hint="install one, or set ODF_CONTAINER_RUNTIME"
        )
    return found


def is_image_name(text: str) -> bool:
    """Whether a runtime takes it for an image, and for nothing else."""
    return _IMAGE.fullmatch(text) is not None


async def pinned_image(runtime: str, name: str) -> PinnedImage:
    """The image that is called so now; it is fetched if it is not here.

    Raises:
        EngineUnavailable: it cannot be had.
    """
    described = await _described(runtime, name)
    if described is None:
        code, said = await _run([runtime, "pull", "--quiet", name], IMAGE_PULL_S_MAX)
        described = await _described(runtime, name)
        if code != 0 or described is None:
            raise EngineUnavailable(f"the image {name} cannot be had: {said}", hint="check its name and the network")
    return described


async def _described(runtime: str, name: str) -> PinnedImage | None:
    code, printed = await _run([runtime, "image", "inspect", "--format", _DESCRIPTION, name], CONTAINER_COMMAND_S_MAX)
    if code != 0:
        return None
    try:
        told = json.loads(printed)
        own = str(told["id"])
        return PinnedImage(own, _digest(name, own, [str(each) for each in told["digests"] or []]))
    except (ValueError, TypeError, KeyError) as error:
        raise MalformedInput(f"{runtime} describes the image {name} in words that are not known: {error}") from None


def _digest(name: str, own: str, known: Iterable[str]) -> str:
    """That of its repository; an image that was built here has its own hash alone."""
    repository = _without_tag(name)
    digests = sorted(known, key=lambda each: (each.partition("@")[0] != repository, each))
    return digests[0] if digests else f"{repository}@sha256:{own.removeprefix('sha256:')}"


def _without_tag(name: str) -> str:
    path, slash, last = name.partition("@")[0].rpartition("/")
    return path + slash + last.partition(":")[0]


async def _run(command: list[str], timeout_s: float) -> tuple[int, str]:
    """The exit code (-1 where there is none), and what was printed, or what was said of the failure."""
    with suppress(OSError, TimeoutError):
        process = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
        try:
            async with asyncio.timeout(timeout_s):
                printed, said = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
        text = printed if process.returncode == 0 else said[-PROGRAM_WORDS_BYTES:]
        return process.returncode or 0, text.decode(errors="replace").strip()
    return -1, "it does not answer"
