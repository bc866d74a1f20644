"""Run a deed in a child that is killed at its k-th call of the system, for every k; report what went wrong.

Called as ``python -m tests.faults.killer FOLDER DEED``: a process of its own, since forking needs one without threads.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.faults import deeds
from tests.faults.faulty_os import FaultyOs, end_of_process, installed


def main(folder: Path, name: str) -> int:
    deed = next(deed for deed in deeds.DEEDS if deed.name == name)
    for kill_at in range(1, 300):
        root = folder / str(kill_at)
        before = deeds.prepare(root)
        child = os.fork()
        if child == 0:
            with installed(FaultyOs(kill_at, end_of_process)):
                deeds.run(deed, root)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not deeds.is_old_or_new(deed, before, deeds.state(root)):
            print(f"torn when killed at call {kill_at}: {sorted(deeds.state(root))}")
            return 1
        deeds.run_in_child(deed, root)
        if deeds.state(root) != deeds.after(deed, before):
            print(f"cannot be repeated when killed at call {kill_at}")
            return 1
        if status == 0:
            print(kill_at)
            return 0
    print("the deed never ran to its end")
    return 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
