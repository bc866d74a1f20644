"""What a verification comes to, as reports and attestations say it."""

from __future__ import annotations

from enum import Enum


class Verdict(Enum):
    """The outcome for the whole dataset."""

    VALID = "valid"
    INVALID = "invalid"
    ERROR = "error"
    """No damage was found, but not everything could be checked."""
