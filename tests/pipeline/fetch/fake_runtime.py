"""A program that behaves as ``podman run`` does towards who calls it: images are scripts in the folder ``IMAGES``.

The mounted folder is where it is, not where the image thinks, so variables that name it are rewritten.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

IMAGES = Path(__file__).with_name("images")


def main(words: list[str]) -> int:
    """``run …`` or ``rm …``; what it was asked is noted."""
    with (IMAGES / "asked").open("a") as asked:
        asked.write(json.dumps(words) + "\n")
    if words[0] == "rm":
        return 0
    options = [word for word in words[1:] if word.startswith("--")]
    image, *arguments = words[1 + len(options) :]
    given = dict(word.removeprefix("--").partition("=")[::2] for word in options)
    outside, _, inside = given["volume"].partition(":")
    lines = Path(given["env-file"]).read_text().splitlines()
    lines += [word.removeprefix("--env=") for word in options if word.startswith("--env=")]
    variables = dict(line.partition("=")[::2] for line in lines)
    environment = {name: value.replace(inside, outside) for name, value in variables.items()}
    script = IMAGES / (given.get("entrypoint") or image.replace(":", "-"))
    if not script.exists():
        print(f"no such image: {image}", file=sys.stderr)
        return 125
    done = subprocess.run(["/bin/sh", script, *arguments], env={"PATH": os.defpath, **environment}, check=False)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
