"""A container runtime for tests: the program of ``fake_runtime``, and the images it has."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.pipeline import fake_runtime


@dataclass
class FakeRuntime:
    """``program`` is what it is asked by, ``images`` where they lie."""

    program: Path
    images: Path

    @classmethod
    def installed_in(cls, folder: Path) -> FakeRuntime:
        """One without images; ``folder`` is new."""
        images = folder / "images"
        (images / "elsewhere").mkdir(parents=True)
        program = folder / "podman"
        program.write_text(f"#!{sys.executable}\n" + Path(fake_runtime.__file__).read_text())
        program.chmod(0o755)
        return cls(program, images)

    def image(self, name: str, script: str, *, digests: tuple[str, ...] = (), is_here: bool = True) -> None:
        """What it runs; if it is not here it can be pulled."""
        file = self.images / name if is_here else self.images / "elsewhere" / name
        file.write_text(script)
        (self.images / f"{name}.digests").write_text("\n".join(digests))

    @property
    def asked(self) -> list[list[str]]:
        """The words of every call."""
        return [json.loads(line) for line in (self.images / "asked").read_text().splitlines()]

    def options_of_run(self) -> list[str]:
        """Of the one container that was run."""
        (words,) = [words for words in self.asked if words[0] == "run"]
        return [word for word in words if word.startswith("--")]

    def all_were_removed(self) -> bool:
        """Whether every container that was run is gone."""
        runs = [words for words in self.asked if words[0] == "run"]
        names = {word.removeprefix("--name=") for words in runs for word in words if word.startswith("--name=")}
        return names == {words[-1] for words in self.asked if words[0] == "rm"}
