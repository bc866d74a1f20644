"""Gives a process a namespace of processes of its own: whatever it starts ends with it.

A process that was started may leave its group and its session, and so outlive whoever kills those. It cannot outlive
the first process of its namespace: the kernel ends the others with that one.
"""

from __future__ import annotations

import ctypes
import os
import signal
from typing import Final, NoReturn

_NEW_PROCESSES: Final = 0x20000000
_DIE_WITH_PARENT: Final = 1

_libc: Final = ctypes.CDLL(None, use_errno=True)


def keep_own_processes() -> bool:
    """Go on as the first process of a namespace; this one stays to wait for it, and ends as it did.

    Needs a user namespace of our own, and one thread. ``False`` where the kernel has no such thing: all is as before.
    """
    if _libc.unshare(_NEW_PROCESSES) != 0:
        return False
    first = os.fork()
    if first:
        _end_as(first)
    end_with_parent()
    return True


def end_with_parent() -> None:
    """Be killed by the kernel when the process that started this one is gone, whatever this one does meanwhile."""
    _libc.prctl(_DIE_WITH_PARENT, int(signal.SIGKILL), 0, 0, 0)


def _end_as(process: int) -> NoReturn:
    _, status = os.waitpid(process, 0)
    if os.WIFSIGNALED(status):
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(abs(os.waitstatus_to_exitcode(status)))
