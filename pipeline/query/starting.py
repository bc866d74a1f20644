"""Starting the process of a query: anew, or as a copy of one that has its libraries loaded and never saw a query.

A process that is started anew loads libraries for a second; a copy is there after milliseconds, and as clean.
"""

from __future__ import annotations

import select
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple, Protocol

from opendatafabric.errors import EngineDied
from pipeline.query.child import environment

PROCESS_ID: Final = struct.Struct("=q")
EXIT_CODE: Final = struct.Struct("=i")
_KILLED: Final = -9


class Ends(NamedTuple):
    """The descriptors that become standard input, output and error of a process; whoever gives them closes them."""

    source: int
    sink: int
    errors: int


class Started(Protocol):
    """A process that is under way, in a group of its own."""

    pid: int

    def poll(self) -> int | None:
        """How it ended, with a minus for signals; ``None`` if it has not."""
        ...

    def wait(self) -> int:
        """The same, once it has ended."""
        ...

    def forget(self) -> None:
        """Let go of a process that has ended: its number may be given to others."""


Start = Callable[[Ends], Started]


class Spawned(subprocess.Popen[bytes]):
    """A child of this process."""

    def __init__(self, command: list[str], ends: Ends) -> None:
        source, sink, errors = ends
        super().__init__(command, stdin=source, stdout=sink, stderr=errors, env=environment(), start_new_session=True)

    def forget(self) -> None:
        """It went when it was waited for."""


def spawned(ends: Ends) -> Started:
    """A process that loads its libraries itself."""
    return Spawned(_command("child"), ends)


class Copies:
    """A process that waits with libraries loaded, and copies of it, which end when it does. Calls wait."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = subprocess.Popen(
            _command("copying"),
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            env=environment(),
            start_new_session=True,
        )
        theirs.close()
        self._lock = threading.Lock()

    @property
    def pid(self) -> int:
        """Of the process that is copied."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether copies can be had."""
        return self._process.poll() is None

    def start(self, ends: Ends) -> Started:
        """A copy.

        Raises:
            EngineDied: the process that is copied is gone.
        """
        ours, theirs = socket.socketpair()
        try:
            with theirs, self._lock:
                socket.send_fds(self._control, [b"copy"], [*ends, theirs.fileno()])
            told = ours.recv(PROCESS_ID.size)
        except OSError:
            told = b""
        if len(told) < PROCESS_ID.size:
            ours.close()
            raise EngineDied("the process that is copied for queries ended", hint="try again")
        (pid,) = PROCESS_ID.unpack(told)
        return _Copy(pid, ours)

    def close(self) -> None:
        """End it, and all copies."""
        self._control.close()
        self._process.wait()


class _Copy:
    """``status`` is told the exit code, which is looked at as often as wanted: it stays there to be read."""

    def __init__(self, pid: int, status: socket.socket) -> None:
        self.pid = pid
        self._status = status

    def poll(self) -> int | None:
        try:
            told = self._status.recv(EXIT_CODE.size, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        except OSError:
            return _KILLED
        if len(told) < EXIT_CODE.size:  # it ends with the one that it is a copy of
            return _KILLED
        code: int = EXIT_CODE.unpack(told)[0]
        return code

    def wait(self) -> int:
        while (code := self.poll()) is None:
            watched = select.poll()
            watched.register(self._status, select.POLLIN)
            watched.poll()
        return code

    def forget(self) -> None:
        with suppress(OSError):
            self._status.close()


def _command(module: str) -> list[str]:
    return [sys.executable, "-P", "-m", f"pipeline.query.{module}"]
