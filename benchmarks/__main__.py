"""Ask every question in turn, each in a process of its own; arguments are handed on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

NOT_QUESTIONS = {"__init__", "__main__", "harness", "plain_spark", "processes", "records", "spark_worker"}


def main() -> int:
    """The number of benchmarks that failed to run."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in NOT_QUESTIONS)
    failed = 0
    for name in names:
        print(f"== {name}", flush=True)
        done = subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *sys.argv[1:]], check=False)
        failed += done.returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
