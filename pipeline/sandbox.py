"""Walls a process in before it runs queries of strangers: Landlock for files, a network namespace for the rest.

Both are entered by the process itself, need no program beside it, and hold for all that it starts. What the process
may reach is listed; everything else, the files of the user among it, is refused by the kernel. The gate (``gate.py``)
is the other wall: it refuses such queries before Spark sees them.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import socket
import struct
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from opendatafabric.limits import ENGINE_FILE_BYTES_MAX

_SYSTEM_READABLE: Final = tuple(
    map(
        Path,
        (
            "/usr",
            "/bin",
            "/lib",
            "/lib64",
            "/proc",
            "/sys/fs/cgroup",
            "/sys/devices/system",
            "/sys/kernel/mm",
            "/dev/urandom",
            "/dev/random",
            "/dev/zero",
            "/etc/alternatives",
            "/etc/group",
            "/etc/hosts",
            "/etc/ld.so.cache",
            "/etc/localtime",
            "/etc/nsswitch.conf",
            "/etc/passwd",
        ),
    )
)
"""What Python and a JVM need to live. Of ``/etc`` only what holds no secret; ``/proc`` hides other processes."""
_DEVICES_WRITABLE: Final = (Path("/dev/null"),)
_JAVA_SETTINGS: Final = "java-*"
"""Distributions keep the settings of a Java under ``/etc``."""

_NEW_USER, _NEW_NET, _NEW_IPC = 0x10000000, 0x40000000, 0x08000000
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG, _PATH_BENEATH = 1, 1
_NO_NEW_PRIVILEGES: Final = 38
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_READ: Final = _EXECUTE | _READ_FILE | _READ_DIR
_ON_FILES: Final = _EXECUTE | _WRITE_FILE | _READ_FILE | 1 << 14 | 1 << 15
"""Rights that make sense for something that is no folder."""
_RIGHTS_BY_VERSION: Final = (0, 13, 14, 15, 15, 16)
"""How many rights over files each version of Landlock knows; later ones know as many as the last."""
_ABSTRACT_SOCKETS_AND_SIGNALS: Final = 3
_SCOPES_SINCE: Final = 6
_INTERFACE_FLAGS, _SET_INTERFACE_FLAGS, _UP = 0x8913, 0x8914, 1

_libc: Final = ctypes.CDLL(None, use_errno=True)


def enter_sandbox(*, readable: Iterable[Path], writable: Iterable[Path]) -> bool:
    """Leave this process, for good, no network but its own and no files but these; whether both walls stand.

    Call it while there is one thread. Limits on processes and files are set in any case.
    """
    _limit_resources()
    without_network = _leave_network()
    return _restrict_files([*_system_paths(), *readable], [*_DEVICES_WRITABLE, *writable]) and without_network


def landlock_version() -> int:
    """Of the kernel; 0 where there is none."""
    return max(0, int(_libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG)))


def _limit_resources() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    limit = ENGINE_FILE_BYTES_MAX if hard == resource.RLIM_INFINITY else min(hard, ENGINE_FILE_BYTES_MAX)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


def _system_paths() -> list[Path]:
    return [*_SYSTEM_READABLE, *Path("/etc").glob(_JAVA_SETTINGS)]


def _leave_network() -> bool:
    """Into namespaces of its own, where there is nothing but a loopback."""
    user, group = os.getuid(), os.getgid()
    if _libc.unshare(_NEW_USER | _NEW_NET | _NEW_IPC) != 0:
        return False
    try:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
        _loopback_up()
    except OSError:
        return False
    return True


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", 0)
        (flags,) = struct.unpack_from("16xh", fcntl.ioctl(any_socket, _INTERFACE_FLAGS, request))
        fcntl.ioctl(any_socket, _SET_INTERFACE_FLAGS, struct.pack("16sh14x", b"lo", flags | _UP))


def _restrict_files(readable: Iterable[Path], writable: Iterable[Path]) -> bool:
    version = landlock_version()
    if version == 0:
        return False
    all_rights = (1 << _RIGHTS_BY_VERSION[min(version, len(_RIGHTS_BY_VERSION) - 1)]) - 1
    ruleset = _make_ruleset(version, all_rights)
    if ruleset < 0:
        return False
    try:
        for path in readable:
            _allow(ruleset, path, _READ)
        for path in writable:
            _allow(ruleset, path, all_rights & ~_EXECUTE)
        alone = _libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0
        return alone and bool(_libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0)
    finally:
        os.close(ruleset)


def _make_ruleset(version: int, rights: int) -> int:
    scopes = _ABSTRACT_SOCKETS_AND_SIGNALS if version >= _SCOPES_SINCE else 0
    attributes = struct.pack("=QQQ", rights, 0, scopes)[: 24 if scopes else 8]
    return int(_libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0))


def _allow(ruleset: int, path: Path, rights: int) -> None:
    """Paths that are not there need no permission."""
    with suppress(FileNotFoundError):
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            allowed = rights if path.is_dir() else rights & _ON_FILES
            rule = struct.pack("=Qi", allowed, opened)
            if _libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0) != 0:
                raise OSError(ctypes.get_errno(), f"Landlock takes no rule for {path}")
        finally:
            os.close(opened)
