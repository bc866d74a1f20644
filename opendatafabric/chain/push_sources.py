"""The push sources in force, by name, as an immutable map that is cheap to extend.

A chain may declare any number of them, so copying a dictionary per block would make long chains quadratic. Here a few
dictionaries of growing size stand behind each other and are merged like the digits of a counter: adding costs
O(log n) amortised, and earlier maps stay as they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from opendatafabric.metadata.events import AddPushSource


class PushSources(Mapping[str, AddPushSource]):
    """Name → the nearest AddPushSource of that name."""

    __slots__ = ("_layers",)

    def __init__(self, layers: tuple[dict[str, AddPushSource], ...] = ()) -> None:
        self._layers = layers

    def with_source(self, source: AddPushSource) -> PushSources:
        """The same map with ``source`` added or replaced."""
        newest = {source.source_name: source}
        layers = self._layers
        while layers and len(layers[0]) <= len(newest):
            newest = {**layers[0], **newest}
            layers = layers[1:]
        return PushSources((newest, *layers))

    def __getitem__(self, name: str) -> AddPushSource:
        for layer in self._layers:
            if name in layer:
                return layer[name]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(name for layer in self._layers for name in layer))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return bool(self._layers)
