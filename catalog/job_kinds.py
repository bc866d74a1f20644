"""What is done for datasets by workers."""

from __future__ import annotations

from typing import Final

from opendatafabric.metadata.events import DatasetKind

POLL: Final = "poll"
"""The kind of job that asks the polling source of a dataset for what is new."""

TRANSFORM: Final = "transform"
"""The kind that brings a derivative up to date with its inputs."""

VERIFY: Final = "verify"
"""The kind that checks a dataset and repeats its transform."""

PROMOTE: Final = "promote"
"""The kind that verifies what was pushed to a dataset with a gate, and makes it the head."""

KINDS: Final = (POLL, TRANSFORM, VERIFY, PROMOTE)


def kind_for(dataset_kind: DatasetKind) -> str:
    """What is done for a dataset again and again: a root is polled, a derivative is computed."""
    return TRANSFORM if dataset_kind is DatasetKind.DERIVATIVE else POLL
