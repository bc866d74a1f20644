"""How mirrors are, as JSON values and as a number: for the API, for metrics, for the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typing_extensions import TypedDict

from catalog.mirrors import Mirror, MirroredDataset


class MirrorState(TypedDict):
    """A mirror; times are seconds since 1970, ``states`` has each dataset."""

    id: int
    direction: str
    target: str
    datasets: str
    schedule: str | None
    nextRunAt: float | None
    lastRunAt: float | None
    lastSuccessAt: float | None
    lastError: str | None
    failures: int
    lagS: float
    states: dict[str, dict[str, Any]]


def plain_mirror(mirror: Mirror, datasets: Mapping[str, MirroredDataset], now: float) -> MirrorState:
    """A mirror as JSON values, without its token; ``now`` in seconds since 1970."""
    return {
        "id": mirror.id,
        "direction": mirror.direction.value,
        "target": mirror.target,
        "datasets": mirror.pattern,
        "schedule": mirror.schedule,
        "nextRunAt": mirror.next_run_at,
        "lastRunAt": mirror.last_run_at,
        "lastSuccessAt": mirror.last_success_at,
        "lastError": mirror.last_error,
        "failures": mirror.failures,
        "lagS": lag_s(datasets, now),
        "states": {
            name: {"head": each.head, "behindSince": each.behind_since, "error": each.error, **each.state}
            for name, each in datasets.items()
        },
    }


def lag_s(datasets: Mapping[str, MirroredDataset], now: float) -> float:
    """For how long the dataset has been behind that is longest; 0 when all are up to date."""
    return max((now - each.behind_since for each in datasets.values() if each.behind_since is not None), default=0.0)
