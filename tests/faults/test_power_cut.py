"""The power goes out: what was acknowledged is there, whole, under its name, and the ref is right.

A file system in a file is mounted, a process writes and acknowledges on its standard output, and the file system is
shut down without writing its log, which drops everything that was not flushed: bytes and names alike.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from opendatafabric.layout import parse_key
from opendatafabric.multihash import Multihash, physical_hash

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parent.parent.parent
GOING_DOWN = 0x8004587D
WITHOUT_LOG = struct.pack("I", 2)
FORMATS = {"ext4": ["mkfs.ext4", "-q", "-F"], "xfs": ["mkfs.xfs", "-q", "-f"]}
CUTS = 3

WRITER = """
import asyncio, sys
from pathlib import Path
from opendatafabric.layout import block_key, data_key
from opendatafabric.multihash import physical_hash
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore
from storage.quarantine import receive_object

async def write(root):
    objects, refs, head = LocalObjectStore(root), LocalRefStore(root), None
    number = 0
    while True:
        blocks = [f"{number} {i}".encode() * 20 for i in range(1 + number % 7)]
        await objects.put_many({block_key(physical_hash(block)): block for block in blocks})
        for block in blocks:
            print(block_key(physical_hash(block)), flush=True)
        content = str(number).encode() * 30_000
        async def pieces():
            yield content
        name = physical_hash(content)
        await receive_object(objects, data_key(name), pieces(), expected_hash=name, size_max=len(content))
        print(data_key(name), flush=True)
        new = physical_hash(blocks[-1])
        await refs.compare_and_swap("head", expected=head, new=new)
        head = new
        print("head", head, flush=True)
        number += 1

asyncio.run(write(Path(sys.argv[1])))
"""


def run(*command: str | Path) -> None:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"{command[0]} does not work here (needs root and loop devices): {done.stderr.strip()}")


@pytest.fixture(params=sorted(FORMATS))
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    make = FORMATS[request.param]
    if shutil.which(make[0]) is None:
        pytest.skip(f"{make[0]} is not installed")
    image, folder = tmp_path / "image", tmp_path / "disk"
    folder.mkdir()
    with image.open("wb") as file:
        file.truncate(400 * 1024 * 1024)
    run(*make, image)
    run("mount", "-o", "loop", image, folder)
    yield image, folder
    subprocess.run(["umount", str(folder)], check=False)


def cut_power(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.ioctl(descriptor, GOING_DOWN, WITHOUT_LOG)
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("cut", range(CUTS))
def test_nothing_that_was_acknowledged_is_lost(disk: tuple[Path, Path], cut: int) -> None:
    image, folder = disk
    root = folder / "dataset"
    root.mkdir()
    os.sync()
    command = [sys.executable, "-c", WRITER, str(root)]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as writer:
        assert writer.stdout is not None
        lines = [writer.stdout.readline() for _ in range(40 + 37 * cut)]
        cut_power(folder)
        writer.kill()
        lines += writer.stdout.readlines()
    acknowledged = [line.split() for line in lines if line.endswith("\n")]
    run("umount", folder)
    run("mount", "-o", "loop", image, folder)
    keys = [words[0] for words in acknowledged if words[0] != "head"]
    heads = [Multihash.from_text(words[1]) for words in acknowledged if words[0] == "head"]
    assert len(keys) > 10
    for key in keys:
        assert physical_hash((root / key).read_bytes()) == parse_key(key)[1], key
    head = Multihash.from_text((root / "refs" / "head").read_text())
    stored = {path.name: path.read_bytes() for path in (root / "blocks").iterdir() if path.name[0] != "."}
    assert all(str(physical_hash(data)) == name for name, data in stored.items()), "torn"
    # A move that was under way may have come through without its answer; an older head may not come back.
    assert head == heads[-1] or (str(head) in stored and head not in heads)
