"""Becomes a command of a source, walled in: ``python -m pipeline.walled_command FOLDER COMMAND…``.

It keeps its standard streams, may read what systems consist of and write into FOLDER, and has no network. Where the
kernel has no such walls nothing is run.
"""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path
from typing import Final

from opendatafabric.source_limits import PIPE_MEMORY_BYTES_MAX, PIPE_S_MAX
from pipeline.sandbox import enter_sandbox

NO_WALLS: Final = 125
_NOT_THERE: Final = 127
_PATH: Final = "/usr/local/bin:/usr/bin:/bin"


def main(words: list[str]) -> int:
    """Returns only if there is nothing to become."""
    folder, command = Path(words[1]), words[2:]
    resource.setrlimit(resource.RLIMIT_AS, (PIPE_MEMORY_BYTES_MAX, PIPE_MEMORY_BYTES_MAX))
    resource.setrlimit(resource.RLIMIT_CPU, (PIPE_S_MAX, PIPE_S_MAX))
    os.chdir(folder)
    if not enter_sandbox(readable=(), writable=(folder,)):
        return NO_WALLS
    environment = {"PATH": _PATH, "HOME": str(folder), "TMPDIR": str(folder), "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    try:
        os.execvpe(command[0], command, environment)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{command[0]}: {getattr(error, 'strerror', error)}\n")
    return _NOT_THERE


if __name__ == "__main__":
    sys.exit(main(sys.argv))
