"""Server processes for benchmarks: ours, and what it is compared with. Each says what CPU and memory it used so far.

What is not installed here cannot be compared: ``start_…`` gives ``None`` and the benchmark says so loudly.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

HOST = "127.0.0.1"
_STARTS_WITHIN_S = 20
_TICKS = os.sysconf("SC_CLK_TCK")
_MIB_IN_KIB = 1024
_GO_FILES = Path(__file__).parent / "go_files"
_OURS = """
import asyncio, sys
from pathlib import Path
from repo_server.app import serve
from repo_server.config import Settings
settings = Settings(repo=Path(sys.argv[1]), port=int(sys.argv[2]), reuse_port=True, access_log=False)
asyncio.run(serve(settings, on_ready=lambda address: None))
"""


@dataclass
class Server:
    """Processes that listen on one port of this machine."""

    port: int
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def cpu(self) -> float:
        """User and system seconds of all processes and of those they started."""
        return sum(_cpu_of(pid) for pid in self.family())

    def rss_mib(self) -> float:
        """Resident memory now."""
        return sum(_status_kib(process.pid, "VmRSS") for process in self.processes) / _MIB_IN_KIB

    def peak_mib(self) -> float:
        """The most resident memory since ``forget_peak``."""
        return sum(peak_mib(process.pid) for process in self.processes)

    def forget_peak(self) -> None:
        """Count the peak anew."""
        for process in self.processes:
            forget_peak(process.pid)

    def family(self) -> list[int]:
        """All processes and those they started."""
        return [member for process in self.processes for member in _family(process.pid)]

    def stop(self) -> None:
        """End all processes."""
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()


def command_of(pid: int) -> bytes:
    """The command line of a process."""
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def peak_mib(pid: int) -> float:
    """The most resident memory of one process since ``forget_peak``."""
    return _status_kib(pid, "VmHWM") / _MIB_IN_KIB


def forget_peak(pid: int) -> None:
    """Count the peak of that process anew."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def scratch(name: str) -> Path:
    """A folder that goes away at the end; ``BENCHMARK_FOLDER`` says on which disk."""
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=os.environ.get("BENCHMARK_FOLDER")))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)
    return folder


def start(*commands: Sequence[str], port: int, environment: dict[str, str] | None = None) -> Server:
    """Start processes that share ``port`` and wait until all listen."""
    server = Server(port)
    atexit.register(server.stop)
    for command in commands:
        process = subprocess.Popen(
            command,
            env={**os.environ, **(environment or {})},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        server.processes.append(process)
        _wait_for(process, port)
    return server


def start_ours(repository: Path, *, processes: int = 1) -> Server:
    """``processes`` of this server over one repository, on one port."""
    port = free_port()
    return start(*[[sys.executable, "-c", _OURS, str(repository), str(port)]] * processes, port=port)


def start_nginx(folder: Path) -> Server | None:
    """One nginx worker that serves the files of ``folder`` by sendfile."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        return None
    port, state = free_port(), scratch("nginx")
    temporary = "".join(
        f"{kind}_temp_path {state}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (state / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {state}/pid; error_log {state}/log; events {{ worker_connections 1024; }}"
        f"http {{ access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000; {temporary}"
        f" server {{ listen {HOST}:{port}; root {folder}; }} }}"
    )
    return start([program, "-c", str(state / "nginx.conf"), "-p", str(state)], port=port)


def start_go_files(folder: Path) -> Server | None:
    """Go's http.FileServer."""
    program = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if program is None:
        return None
    state = scratch("go-files")
    subprocess.run([program, "build", "-o", str(state / "go_files"), "."], cwd=_GO_FILES, check=True)
    port = free_port()
    return start([str(state / "go_files"), str(folder), str(port)], port=port)


def free_port() -> int:
    """A port nobody listens on."""
    with socket.create_server((HOST, 0)) as found:
        return int(found.getsockname()[1])


def _wait_for(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + _STARTS_WITHIN_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        if _listens(process.pid, port):
            return
        time.sleep(0.05)
    raise SystemExit(f"{process.args!r} does not listen on port {port}")


def _listens(pid: int, port: int) -> bool:
    # Asked of the kernel, not by connecting: with several processes on a port any of them would answer.
    wanted = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
            wanted.add(f"socket:[{fields[9]}]")
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            if str(descriptor.readlink()) in wanted:
                return True
        except FileNotFoundError:
            continue
    return False


def _family(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(member for child in children for member in _family(int(child)))]


def _cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _status_kib(pid: int, name: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    return 0
