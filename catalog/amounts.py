"""How much something is, and how much it may be. Pure: nothing is looked up here."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Final

from opendatafabric.errors import AccessDenied

_UNITS: Final = ("KiB", "MiB", "GiB", "TiB")


class QuotaExceeded(AccessDenied):
    """More than the account or the dataset may have."""

    code = "quota-exceeded"


@dataclass(frozen=True, slots=True)
class Amounts:
    """``bytes`` counts blocks and objects, ``objects`` data slices and checkpoints."""

    bytes: int = 0
    objects: int = 0
    datasets: int = 0

    def __add__(self, other: Amounts) -> Amounts:
        return Amounts(self.bytes + other.bytes, self.objects + other.objects, self.datasets + other.datasets)

    def as_dict(self) -> dict[str, int]:
        """Plain JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Quota:
    """The most of each; 0 is any number, ``None`` what the node says."""

    bytes: int | None = None
    objects: int | None = None
    datasets: int | None = None

    def or_else(self, default: Quota) -> Quota:
        """What is not said here is as ``default`` says."""
        return Quota(
            *(own if own is not None else other for own, other in zip(_each(self), _each(default), strict=True))
        )

    def as_dict(self) -> dict[str, int | None]:
        """Plain JSON values."""
        return asdict(self)


_ANY: Final = Quota(0, 0, 0)


@dataclass(frozen=True, slots=True)
class Limits:
    """What counts where nothing was set: for an account, and for each dataset."""

    account: Quota = _ANY
    dataset: Quota = _ANY


def check_room(whose: str, quota: Quota, taken: Amounts, wanted: Amounts) -> None:
    """Go on if ``wanted`` fits beside ``taken``; what is not wanted is not looked at.

    Raises:
        QuotaExceeded: it does not; the message begins with the numbers, for peers that cut it short.
    """
    for name in ("bytes", "objects", "datasets"):
        most, have, more = getattr(quota, name), getattr(taken, name), getattr(wanted, name)
        if most and more and have + more > most:
            left = max(0, most - have)
            raise QuotaExceeded(
                f"quota: {told(name, more)} needed, {told(name, left)} left to {whose}",
                expected=f"at most {told(name, most)}",
                found=f"{told(name, have)} taken or about to be, and {told(name, more)} more",
                hint="delete what is not needed, or ask an administrator for more",
            )


def told(name: str, count: int) -> str:
    """A number with what it counts, bytes in a large unit."""
    if name != "bytes":
        return f"{count} {name}"
    value, unit = float(count), "B"
    for larger in _UNITS:
        if value >= 1024:
            value, unit = value / 1024, larger
    return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"


def _each(quota: Quota) -> tuple[int | None, int | None, int | None]:
    return quota.bytes, quota.objects, quota.datasets
