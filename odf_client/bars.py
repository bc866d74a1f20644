"""Progress as whoever asks would have it: bars in a terminal or a notebook, a function of theirs, or none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from odf_client.extras import package_of
from storage.progress import BYTES, Progress, silent

Shown = bool | Progress | None
"""``True`` for bars (the extra ``notebook``), a function ``(label, done, total)``, or nothing."""


@contextmanager
def shown(progress: Shown) -> Iterator[Progress]:
    """Inside, progress is shown so."""
    if progress is None or isinstance(progress, bool):
        with _bars() if progress else _nothing() as advance:
            yield advance
    else:
        yield progress


@contextmanager
def _nothing() -> Iterator[Progress]:
    yield silent


@contextmanager
def _bars() -> Iterator[Progress]:
    tqdm = package_of("notebook", "tqdm.auto").tqdm
    bars: dict[str, Any] = {}

    def advance(label: str, done: int, total: int | None) -> None:
        if label not in bars:
            bars[label] = tqdm(desc=label, unit="B" if label == BYTES else "", unit_scale=label == BYTES, leave=False)
        bars[label].total = total
        bars[label].update(done - bars[label].n)

    try:
        yield advance
    finally:
        for bar in bars.values():
            bar.close()
