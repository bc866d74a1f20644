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
from pipeline.containers import is_image_name

_SCHEME: Final = "grpc://"
_ADDRESS: Final = re.compile(r"[^\s/@]+:\d{1,5}", re.ASCII)


@dataclass(frozen=True, slots=True)
class EngineAddress:
    """It listens at ``address`` (``host:port``), and sees our files under the paths that they have here."""

    address: str


@dataclass(frozen=True, slots=True)
class EngineImage:
    """It is run for each step: ``name`` is that of an OCI image, by a tag or better by its digest."""

    name: str


EnginePlace = EngineAddress | EngineImage


@dataclass(frozen=True, slots=True)
class EnginesElsewhere:
    """The place of each, by its lower-case name, or by ``name@version`` for one version alone.

    ``container_runtime`` is the program that runs images, unless it is the usual one; ``network`` what they are
    attached to, unless it is its usual one.
    """

    places: Mapping[str, EnginePlace] = field(default_factory=dict)
    container_runtime: str | None = None
    network: str | None = None

    def place_of(self, transform: Transform) -> EnginePlace | None:
        """Where the engine of the transform is; ``None`` if nobody said so."""
        name = transform.engine.lower()
        return self.places.get(f"{name}@{transform.version}") or self.places.get(name)


NONE_ELSEWHERE: Final = EnginesElsewhere()


def parse_engine_place(text: str) -> EnginePlace:
    """``grpc://HOST:PORT`` or ``HOST:PORT``; all else is the name of an image.

    Raises:
        MalformedInput: neither.
    """
    address = text.removeprefix(_SCHEME)
    if _ADDRESS.fullmatch(address) is not None:
        return EngineAddress(address)
    if "://" in text or not is_image_name(text):
        raise MalformedInput(
            f"'{text}' is neither an address of an engine nor an image", expected="grpc://HOST:PORT or NAME@sha256:…"
        )
    return EngineImage(text)
