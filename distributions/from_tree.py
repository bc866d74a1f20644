"""Puts packages that lie at the root of the tree into the wheel of a distribution that is described in a folder here.

The tree has one folder per package whichever distribution it goes into; an installation for development finds all of
them at the root by itself (``dev-mode-dirs``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class FromTree(BuildHookInterface):  # type: ignore[type-arg]  # of a configuration that is of no interest here
    """``packages`` of the hook's table says which."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add them to what is built, unless it is an editable installation."""
        if version == "editable":
            return
        tree = Path(self.root).parent.parent
        build_data["force_include"].update({str(tree / name): name for name in self.config["packages"]})
