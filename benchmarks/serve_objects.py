"""What does it cost to serve immutable files, next to servers that do nothing else? (goals P1, P2, P3)

One large object to 1 and to 16 clients at once, against nginx's static files by sendfile; and 4 KiB blocks of a private
dataset, each request with a token, against nginx and Go's file server, which ask for none. CPU is the server's. The
clients of the large object throw the bytes away in the kernel; the requests for blocks come from wrk.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

from benchmarks.harness import Done, Goal, Question, Way, main
from benchmarks.processes import HOST, Server, scratch, start_go_files, start_nginx, start_ours
from catalog.catalog import open_catalog
from catalog.datasets import DatasetRecord
from catalog.visibility import Visibility
from opendatafabric.codec.block_codec import encode_block
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import new_dataset_id
from opendatafabric.instant import Instant
from opendatafabric.layout import block_key, data_key
from opendatafabric.metadata.block import MetadataBlock
from opendatafabric.metadata.events import DatasetKind, Seed
from opendatafabric.multihash import physical_hash
from opendatafabric.names import AccountName
from repo_server.config import Settings
from storage.repository import DatasetEntry, Repository

MIB, GIB = 1 << 20, 1 << 30
ALIAS = DatasetAlias.from_text("bench/files")
BLOCK_BYTES, BLOCKS, CLIENTS = 4_096, 2_000, 16
_DRAIN_BYTES = 4 * MIB


async def hosted(root: Path) -> tuple[DatasetEntry, str]:
    """A private dataset in ``root`` with nothing but a Seed, and a token of its owner."""
    repository = Repository.init(root)
    dataset_id = new_dataset_id(bytes(31) + b"\5")
    entry = await repository.create(ALIAS, dataset_id)
    seed = encode_block(MetadataBlock(Instant(2024, 1, 0), None, 0, Seed(dataset_id, DatasetKind.ROOT)))
    await entry.dataset.append([seed], expected_head=None)
    async with open_catalog(Settings(repo=root).database_url) as catalog:
        owner = await catalog.accounts.find_or_create(AccountName("bench"))
        await catalog.datasets.put(DatasetRecord(dataset_id, ALIAS, owner.id, Visibility.PRIVATE))
        return entry, await catalog.tokens.create(owner)


def add_object(folder: Path, size: int) -> str:
    """A file of ``size`` bytes under a name that is no hash of it (nobody looks when serving); its key."""
    key = data_key(physical_hash(str(size).encode()))
    (folder / key).parent.mkdir(exist_ok=True)
    with (folder / key).open("wb") as file:
        for _ in range(size // MIB):
            file.write(os.urandom(MIB))
    return key


def add_blocks(folder: Path) -> list[str]:
    """Files of 4 KiB among the blocks; their keys."""
    keys = []
    for _ in range(BLOCKS):
        content = os.urandom(BLOCK_BYTES)
        keys.append(block_key(physical_hash(content)))
        (folder / keys[-1]).write_bytes(content)
    return keys


def downloads(server: Server, path: str, token: str, size: int, clients: int) -> Callable[[], None]:
    """``clients`` at once get the object once each."""

    def run() -> None:
        threads = [threading.Thread(target=download, args=(server.port, path, token, size)) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return run


def download(port: int, path: str, token: str, size: int) -> None:
    """Get the object; its bytes never leave the kernel (``MSG_TRUNC``)."""
    request = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    with socket.create_connection((HOST, port)) as connection:
        connection.sendall(request.encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(64)
        if not head.startswith(b"HTTP/1.1 200"):
            raise SystemExit(head.decode(errors="replace"))
        left = size - len(head.partition(b"\r\n\r\n")[2])
        buffer = bytearray(_DRAIN_BYTES)
        while left > 0:
            got = connection.recv_into(buffer, min(left, _DRAIN_BYTES), socket.MSG_TRUNC)
            if not got:
                raise SystemExit(f"{left} bytes of {size} never came")
            left -= got


def large_objects(quick: bool) -> Question:
    """P1 and P2."""
    size = 256 * MIB if quick else GIB
    root = scratch("serve-large")
    entry, token = asyncio.run(hosted(root / "repository"))
    key = add_object(entry.path, size)
    servers = {"ours": (start_ours(root / "repository"), f"/{ALIAS}/{key}")}
    nginx = start_nginx(entry.path)
    if nginx is not None:
        servers["nginx"] = (nginx, f"/{key}")
    ways = [
        Way(f"{name}, {clients}", downloads(server, path, token, size, clients), size * clients / GIB, server.cpu)
        for clients in (1, CLIENTS)
        for name, (server, path) in servers.items()
    ]
    ours, theirs = f"ours, {CLIENTS}", f"nginx, {CLIENTS}"
    return Question(
        f"Serving an object of {size // MIB} MiB to 1 and to {CLIENTS} clients at once",
        "GiB",
        ways,
        [
            Goal(
                "P1", f"CPU for a GiB, {CLIENTS} clients, to nginx", ours, theirs, 1.25, at_least=False, measure="cpu"
            ),
            Goal("P2", f"GiB/s, {CLIENTS} clients, to nginx", ours, theirs, 0.85, measure="wall_speed"),
            Goal("-", "CPU for a GiB, 1 client, to nginx", "ours, 1", "nginx, 1", 1.25, at_least=False, measure="cpu"),
        ],
        [] if nginx is not None else ["nginx is not installed: nothing to compare with (apt-get install nginx-light)"],
    )


def small_blocks(quick: bool) -> Question:
    """P3."""
    wrk = shutil.which("wrk")
    if wrk is None:
        raise SystemExit("SKIPPED: wrk is not installed: blocks/s not measured (apt-get install wrk)")
    root = scratch("serve-small")
    entry, token = asyncio.run(hosted(root / "repository"))
    keys = add_blocks(entry.path)
    found: dict[str, Server | None] = {
        "ours": start_ours(root / "repository"),
        "ours, 2 processes": start_ours(root / "repository", processes=2),
        "nginx": start_nginx(entry.path),
        "Go http.FileServer": start_go_files(entry.path),
    }
    seconds = 2 if quick else 5
    ways = [
        Way(name, asking(wrk, server, script, token, seconds), cpu=server.cpu)
        for name, server in found.items()
        if server is not None
        for script in [script_for(root, name, f"/{ALIAS}/" if "ours" in name else "/", keys)]
    ]
    skipped = [f"{name} is not installed: not compared" for name, server in found.items() if server is None]
    ours, go = "ours, 2 processes", "Go http.FileServer"
    return Question(
        f"Serving blocks of {BLOCK_BYTES} bytes to {CLIENTS} clients, ours with a token",
        "1000 blocks",
        ways,
        [Goal("P3", "blocks/s, 2 processes, to Go", ours, go, 0.5, measure="wall_speed")],
        [*skipped, "MinIO is no package here: the other half of P3 is not compared"],
    )


def script_for(root: Path, name: str, prefix: str, keys: list[str]) -> Path:
    """What wrk asks for: the blocks in a row, from another place in each thread."""
    script = root / f"{re.sub('[^a-zA-Z0-9]+', '-', name)}.lua"
    paths = ",".join(f'"{prefix}{key}"' for key in keys)
    script.write_text(
        f"local paths = {{{paths}}}\nlocal at = math.random(#paths)\n"
        "request = function() at = at % #paths + 1; return wrk.format('GET', paths[at]) end\n"
        "done = function(summary) local e = summary.errors;"
        " io.write(string.format('RESULT %d %d\\n', summary.requests, e.status + e.connect + e.read + e.timeout)) end\n"
    )
    return script


def asking(wrk: str, server: Server, script: Path, token: str, seconds: int) -> Callable[[], Done]:
    """Ask for blocks as fast as they come; one thread, so that a core is left for the server."""
    command = [wrk, "-t1", f"-c{CLIENTS}", f"-d{seconds}s", "-s", str(script), "-H", f"Authorization: Bearer {token}"]

    def run() -> Done:
        output = subprocess.run([*command, server.url], capture_output=True, text=True, check=True).stdout
        requests, failed = (int(count) for count in re.search(r"RESULT (\d+) (\d+)", output).groups())  # type: ignore[union-attr]
        if failed:
            raise SystemExit(f"{failed} of {requests} requests failed:\n{output}")
        return Done(requests / 1000)

    return run


if __name__ == "__main__":
    main(large_objects, small_blocks)
