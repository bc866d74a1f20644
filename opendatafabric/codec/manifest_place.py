"""Where a value stands in a manifest: its node with the path of fields to it, and the errors that name both."""

from __future__ import annotations

from dataclasses import dataclass

from opendatafabric.codec.yaml_reader import Mapping, Node, Scalar, Sequence
from opendatafabric.errors import MalformedManifest, UnsupportedVersion


@dataclass(frozen=True, slots=True)
class Place:
    """A node and the way to it; ``any_word`` says that any scalar counts as text here."""

    node: Node
    path: str = ""
    any_word: bool = False

    def inside(self, name: str, node: Node) -> Place:
        """A field of this mapping."""
        return Place(node, f"{self.path}.{name}" if self.path else name, self.any_word)

    def item(self, index: int, node: Node) -> Place:
        """An item of this sequence."""
        return Place(node, f"{self.path}[{index}]", self.any_word)

    def wrong(self, problem: str, *, expected: object = None, hint: str | None = None) -> MalformedManifest:
        """The error to raise about this node."""
        return MalformedManifest(self.locate(problem), expected=expected, found=shown(self.node), hint=hint)

    def of_other_version(self, problem: str, version: str, now: str | None) -> UnsupportedVersion:
        """The same for a form of another version of the format."""
        hint = f"today this is {now}" if now else "there is no such thing in the versions read here (ODF 0.34 to 0.37)"
        return UnsupportedVersion(self.locate(f"{problem} is {version}"), hint=hint)

    def locate(self, problem: str) -> str:
        """The problem with path and position."""
        return f"{self.path + ': ' if self.path else ''}{problem} ({self.node.place})"


def shown(node: Node) -> str:
    """What stands there, in a few words."""
    match node:
        case Mapping():
            return "a mapping"
        case Sequence():
            return "a list"
        case Scalar(value=None):
            return "null"
        case Scalar(value=value):
            return repr(value)[:100]
        case _:
            return "nothing"
