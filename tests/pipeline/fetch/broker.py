"""A real MQTT broker on this machine, Mosquitto, and its own client to send with."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin"
_TRIES = 200


@dataclass
class RunningBroker:
    """Where it listens."""

    port: int

    async def publish(self, topic: str, *payloads: bytes, qos: int = 1, retain: bool = False) -> None:
        """One message after another."""
        for payload in payloads:
            process = await asyncio.create_subprocess_exec(
                _program("mosquitto_pub"), "-h", "127.0.0.1", "-p", str(self.port), "-t", topic, "-q", str(qos), "-s",
                *(["-r"] if retain else []), stdin=asyncio.subprocess.PIPE,
            )  # fmt: skip
            await process.communicate(payload)
            assert process.returncode == 0


@asynccontextmanager
async def broker(
    port: int, folder: Path, *, user: str | None = None, settings: str = ""
) -> AsyncIterator[RunningBroker]:
    """For everybody, or for that user with the password ``secret``."""
    told = [f"listener {port} 127.0.0.1", f"allow_anonymous {'true' if user is None else 'false'}", settings]
    if user is not None:
        told.append(f"password_file {_passwords(folder / 'users', user)}")
    if os.getuid() == 0:
        told.append("user root")
    (folder / "mosquitto.conf").write_text("\n".join(told) + "\n")
    process = await asyncio.create_subprocess_exec(
        _program("mosquitto"), "-c", folder / "mosquitto.conf", stderr=asyncio.subprocess.DEVNULL
    )
    try:
        await _listening(port)
        yield RunningBroker(port)
    finally:
        process.kill()
        await process.wait()


def _passwords(file: Path, user: str) -> Path:
    subprocess.run([_program("mosquitto_passwd"), "-b", "-c", file, user, "secret"], check=True)
    file.chmod(0o644)
    return file


def _program(name: str) -> str:
    found = shutil.which(name, path=_PATH)
    if found is None:
        pytest.skip(f"{name} is not installed (Debian: apt-get install mosquitto mosquitto-clients)")
    return found


async def _listening(port: int) -> None:
    for _ in range(_TRIES):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.01)
        else:
            writer.close()
            return
    raise AssertionError("the broker does not listen")
