"""Run a deed or a chore in a child that is killed at its k-th call of the system, for every k; report what went wrong.

Called as ``python -m tests.faults.killer FOLDER NAME``: a process of its own, since forking needs one without threads.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import traceback
from collections.abc import Awaitable, Callable, Sequence, Set
from pathlib import Path
from types import ModuleType

from tests.faults.chores import BEFORE, CHORES, Chore, as_chore, repeated
from tests.faults.deeds import DEEDS
from tests.faults.faulty_os import COUNTED, FaultyOs, end_of_process, installed

CALLS_MAX = 1_000


def main(folder: Path, chore: Chore, counted: Set[str] = COUNTED, others: Sequence[ModuleType] = ()) -> int:
    """The number of ``counted`` calls is printed if all goes well. ``others`` are modules that write, as the stores."""
    before = folder / BEFORE
    if in_child(lambda: chore.prepare(before)) != 0:
        return 1
    for kill_at in range(1, CALLS_MAX):
        root = folder / str(kill_at)
        shutil.copytree(before, root)
        status = in_child(lambda root=root: chore.run(root), FaultyOs(kill_at, end_of_process, counted), others)  # type: ignore[misc]
        if in_child(lambda root=root: repeated(chore, before, root)) != 0:  # type: ignore[misc]
            print(f"when killed at call {kill_at}")
            return 1
        shutil.rmtree(root)
        if status == 0:
            print(kill_at)
            return 0
    print("it never ran to its end")
    return 1


def in_child(
    action: Callable[[], Awaitable[None]], system: FaultyOs | None = None, others: Sequence[ModuleType] = ()
) -> int:
    """Run to the end in a fork, so that this process stays without threads; how it ended."""
    child = os.fork()
    if child == 0:
        try:
            with installed(system or FaultyOs(0, end_of_process), *others):
                asyncio.run(awaited(action))
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]


async def awaited(action: Callable[[], Awaitable[None]]) -> None:
    await action()


if __name__ == "__main__":
    chores = (*map(as_chore, DEEDS), *CHORES)
    sys.exit(main(Path(sys.argv[1]), next(each for each in chores if each.name == sys.argv[2])))
