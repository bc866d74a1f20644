"""From the types beside the handlers to JSON Schemas, each named once among the components of a document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import TypeAdapter

_REFERENCES: Final = "#/components/schemas/{model}"


class Components:
    """The schemas that a document names."""

    def __init__(self) -> None:
        self.schemas: dict[str, Any] = {}

    def schema(self, of: Any) -> dict[str, Any]:
        """The schema of a type; a JSON Schema stays as it is."""
        if isinstance(of, Mapping):
            return dict(of)
        made = TypeAdapter(of).json_schema(ref_template=_REFERENCES, mode="serialization")
        self.schemas.update(made.pop("$defs", {}))
        name = made.get("title")
        if made.get("type") != "object" or name is None or not _is_named(of):
            return made
        self.schemas[name] = made
        return {"$ref": _REFERENCES.format(model=name)}


def _is_named(of: Any) -> bool:
    return isinstance(of, type) and of.__name__ not in {"dict", "list"}
