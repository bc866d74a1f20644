"""The process that is copied for queries: loads libraries once, then forks for each request that comes by its socket.

It never sees a query: what a copy is asked goes to the copy alone, through descriptors that are handed on. A copy stays
in the table of processes until whoever asked for it lets go, so nobody kills another process by its number.
"""

from __future__ import annotations

import gc
import os
import selectors
import signal
import socket
from contextlib import suppress
from typing import Final, NoReturn

from pipeline.own_processes import end_with_parent
from pipeline.query.child import answer_standard_input, load_libraries
from pipeline.query.starting import EXIT_CODE, PROCESS_ID

_DESCRIPTORS: Final = 4
_DESCRIPTORS_MAX: Final = 1 << 20


class Copying:
    """Serves ``control``, until it is closed."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._selector = selectors.DefaultSelector()
        self._running: dict[int, socket.socket] = {}
        self._ended: set[int] = set()

    def run(self) -> None:
        """Until nobody can ask for more."""
        woken, waking = socket.socketpair()
        waking.setblocking(False)
        signal.set_wakeup_fd(waking.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector.register(self._control, selectors.EVENT_READ)
        self._selector.register(woken, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is woken:
                    woken.recv(4096)
                    self._tell()
                elif key.fileobj is not self._control:
                    self._forget(key.data)
                elif not self._take():
                    return

    def _take(self) -> bool:
        message, descriptors, _, _ = socket.recv_fds(self._control, 16, _DESCRIPTORS)
        if not message:
            return False
        if len(descriptors) == _DESCRIPTORS:
            self._copy(descriptors)
        for each in descriptors[: _DESCRIPTORS - 1]:
            os.close(each)
        return True

    def _copy(self, descriptors: list[int]) -> None:
        pid = os.fork()
        if pid == 0:
            _become(descriptors)
        _own_group(pid)  # here too: who is told the number may end the group at once
        status = socket.socket(fileno=descriptors[-1])
        self._running[pid] = status
        self._selector.register(status, selectors.EVENT_READ, pid)
        _send(status, PROCESS_ID.pack(pid))

    def _tell(self) -> None:
        """Say of those that ended how they did; their numbers stay taken."""
        for pid in self._running.keys() - self._ended:
            ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is not None:
                self._ended.add(pid)
                code = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
                _send(self._running[pid], EXIT_CODE.pack(code))

    def _forget(self, pid: int) -> None:
        """Whoever asked for it has let go."""
        status = self._running.pop(pid)
        self._ended.discard(pid)
        self._selector.unregister(status)
        status.close()
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _own_group(pid: int) -> None:
    with suppress(OSError):
        os.setpgid(pid, pid)


def _send(status: socket.socket, message: bytes) -> None:
    with suppress(OSError):  # who has gone is seen when the socket is read
        status.send(message, socket.MSG_NOSIGNAL)


def _become(descriptors: list[int]) -> NoReturn:
    """Go on as the process of a query, with nothing of ours open."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _own_group(0)
    end_with_parent()
    for target, each in enumerate(descriptors[: _DESCRIPTORS - 1]):
        os.dup2(each, target)
    os.closerange(_DESCRIPTORS - 1, _DESCRIPTORS_MAX)
    os._exit(answer_standard_input())


def main() -> None:
    """Load, then serve standard input."""
    control = socket.socket(fileno=os.dup(0))
    load_libraries()
    gc.collect()
    gc.freeze()  # so that copies share what is never written again
    Copying(control).run()


if __name__ == "__main__":
    main()
    os._exit(0)
