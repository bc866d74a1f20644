"""Many processes move one ref: every move follows exactly one other, and none is lost."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from opendatafabric.multihash import Multihash
from storage.local.refs import LocalRefStore

PROJECT = Path(__file__).parent.parent.parent
PROCESSES, MOVES_EACH = 8, 25

RACER = """
import asyncio, sys
from pathlib import Path
from opendatafabric.errors import RefConflict
from opendatafabric.multihash import physical_hash
from storage.local.refs import LocalRefStore

async def race(root, name, moves):
    refs = LocalRefStore(Path(root))
    won = lost = 0
    while won < moves:
        expected = await refs.read("head")
        new = physical_hash(f"{name} {won}".encode())
        try:
            await refs.compare_and_swap("head", expected=expected, new=new)
        except RefConflict:
            lost += 1
            continue
        won += 1
        print(expected, new)
    print("lost", lost)

asyncio.run(race(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""


def test_of_racing_processes_exactly_one_wins_every_round(tmp_path: Path) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(tmp_path), str(number), str(MOVES_EACH)],
            cwd=PROJECT, stdout=subprocess.PIPE, text=True,
        )
        for number in range(PROCESSES)
    ]  # fmt: skip
    lines = [line.split() for racer in racers for line in racer.communicate(timeout=100)[0].splitlines()]
    assert all(racer.returncode == 0 for racer in racers)
    assert sum(int(lost) for word, lost in lines if word == "lost") > 0, "there was no race"
    moves = [(expected, new) for expected, new in lines if expected != "lost"]
    assert len(moves) == PROCESSES * MOVES_EACH
    after = dict(moves)
    assert len(after) == len(moves), "two winners from one head"
    head = "None"
    while head in after:
        head = after.pop(head)
    assert after == {}, "a move that nothing leads to"
    assert asyncio.run(LocalRefStore(tmp_path).read("head")) == Multihash.from_text(head)
