"""Runs every benchmark of this folder, each in its own process, and keeps what they print in ``results/``.

Run it: python -m benchmarks [NAME...]
"""

from __future__ import annotations

import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent


def main(names: list[str]) -> int:
    found = sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_"))
    failed = [name for name in names or found if run(name) != 0]
    if failed:
        print("failed:", ", ".join(failed))
    return 1 if failed else 0


def run(name: str) -> int:
    """Print as it goes, and keep a copy with when and where it was run."""
    machine = f"{platform.machine()}, Python {platform.python_version()}"
    lines = [f"# {name}, {datetime.now(UTC):%Y-%m-%d}, {machine}\n"]
    print(lines[0], end="", flush=True)
    command = [sys.executable, "-m", f"benchmarks.{name}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=HERE.parent) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line)
    if process.returncode == 0:
        (HERE / "results").mkdir(exist_ok=True)
        (HERE / "results" / f"{name}.txt").write_text("".join(lines))
    return process.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
