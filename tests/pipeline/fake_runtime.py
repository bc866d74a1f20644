"""A program that behaves as ``podman`` does towards who calls it: images are scripts in the folder ``IMAGES``.

Mounted folders are where they are, not where the image thinks: variables that name one are rewritten, and ``MOUNTED``
tells all of them as JSON. A script that listens leaves its address in the file ``LISTENING``. Images that can be pulled
lie in the folder ``elsewhere``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

IMAGES = Path(__file__).with_name("images")


def main(words: list[str]) -> int:
    """The command in ``words``; what it was asked is noted."""
    with (IMAGES / "asked").open("a") as asked:
        asked.write(json.dumps(words) + "\n")
    commands = {"run": run, "rm": remove, "pull": pull, "image": inspect_image, "port": port, "container": address}
    return commands[words[0]](words[1:])


def run(words: list[str]) -> int:
    """A container until it ends."""
    options = [word for word in words if word.startswith("--")]
    image, *arguments = words[len(options) :]
    given = dict(word.removeprefix("--").partition("=")[::2] for word in options)
    volumes = [word.removeprefix("--volume=").split(":") for word in options if word.startswith("--volume=")]
    mounted = {inside: outside for outside, inside, *_ in volumes}
    lines = Path(given["env-file"]).read_text().splitlines() if "env-file" in given else []
    lines += [word.removeprefix("--env=") for word in options if word.startswith("--env=")]
    variables = dict(line.partition("=")[::2] for line in lines)
    for inside, outside in mounted.items():
        variables = {name: value.replace(inside, outside) for name, value in variables.items()}
    if "publish" in given:
        kind = "reachable" if "network" in given else "published"
        variables |= {"MOUNTED": json.dumps(mounted), "LISTENING": str(IMAGES / f"{kind}-{given['name']}")}
    script = script_of(given.get("entrypoint") or image)
    if not script.exists():
        print(f"no such image: {image}", file=sys.stderr)
        return 125
    done = subprocess.run(["/bin/sh", script, *arguments], env={"PATH": os.defpath, **variables}, check=False)
    return done.returncode


def remove(_: list[str]) -> int:
    """It ended with the program that started it."""
    return 0


def pull(words: list[str]) -> int:
    """Have an image here."""
    found = IMAGES / "elsewhere" / script_of(words[-1]).name
    if not found.exists():
        print("manifest unknown", file=sys.stderr)
        return 125
    shutil.copyfile(found, script_of(words[-1]))
    return 0


def inspect_image(words: list[str]) -> int:
    """Its own name, and the digests that lie beside it."""
    script = script_of(words[-1])
    digests = script.with_name(f"{script.name}.digests")
    known = digests.read_text().split() if digests.exists() else []
    if script.exists():
        print(json.dumps({"id": script.name, "digests": known or None}))
    return 0 if script.exists() else 125


def port(words: list[str]) -> int:
    """Where a container listens, once it does."""
    return told(IMAGES / f"published-{words[0]}")


def address(words: list[str]) -> int:
    """Of a container in a network of its own."""
    return told(IMAGES / f"reachable-{words[-1]}")


def told(file: Path) -> int:
    """What stands there."""
    if file.exists():
        print(file.read_text())
    return 0 if file.exists() else 1


def script_of(image: str) -> Path:
    """What it runs."""
    return IMAGES / image.replace(":", "-").replace("/", "-")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
