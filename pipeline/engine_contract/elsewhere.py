"""Engines that run elsewhere, by the names that transforms have for them: which ones, and where.

Nothing here talks to one: the settings speak these words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from opendatafabric.errors import MalformedInput
from opendatafabric.metadata.transform import Transform

_SCHEME: Final = "grpc://"
_ADDRESS: Final = re.compile(r"[^\s/@]+:\d{1,5}", re.ASCII)


@dataclass(frozen=True, slots=True)
class EnginesElsewhere:
    """The address ``host:port`` of each, by its lower-case name, or by ``name@version`` for one version alone."""

    places: Mapping[str, str] = field(default_factory=dict)

    def place_of(self, transform: Transform) -> str | None:
        """Where the engine of the transform is; ``None`` if nobody said so."""
        name = transform.engine.lower()
        return self.places.get(f"{name}@{transform.version}") or self.places.get(name)


NONE_ELSEWHERE: Final = EnginesElsewhere()


def parse_engine_place(text: str) -> str:
    """``grpc://HOST:PORT`` or ``HOST:PORT``, as the latter.

    Raises:
        MalformedInput: neither.
    """
    address = text.removeprefix(_SCHEME)
    if _ADDRESS.fullmatch(address) is None:
        raise MalformedInput(f"'{text}' is no address of an engine", expected="grpc://HOST:PORT")
    return address
