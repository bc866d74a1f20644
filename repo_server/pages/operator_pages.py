"""Pages for administrators: how the mirrors are, and how the node is as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from catalog.accounts import Account
from catalog.job_totals import JobTotal
from catalog.mirror_lags import LagSample
from catalog.standings import StandingTotals
from repo_server.mirror_states import MirrorState
from repo_server.pages.frame import Frame
from repo_server.pages.plots import plot_of
from repo_server.pages.templates import render

_BAR: Final = 120
_ACCOUNTS_MAX: Final = 500
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3_600, 86_400


def mirrors_page(
    mirrors: Sequence[MirrorState], lags: Mapping[int, Sequence[LagSample]], frame: Frame, *, now: float
) -> str:
    """Every mirror, with a bar for how long each dataset has been behind, and a plot of how that was before."""
    shown = [
        {**mirror, "rows": _rows(mirror["states"], now), "past": _past(lags.get(mirror["id"], ()))}
        for mirror in mirrors
    ]
    return render("mirrors.html", frame=frame, mirrors=shown)


def admin_page(
    accounts: Sequence[Account],
    jobs: Mapping[str, JobTotal],
    standings: StandingTotals,
    failing: Sequence[str],
    frame: Frame,
    *,
    unindexed: int = 0,
) -> str:
    """Accounts, jobs, verification; ``failing`` are parts of the node that cannot be used now."""
    return render(
        "admin.html",
        frame=frame,
        accounts=accounts[:_ACCOUNTS_MAX],
        accounts_left=max(0, len(accounts) - _ACCOUNTS_MAX),
        jobs=[(kind, total, lasting(total.lag_s)) for kind, total in jobs.items()],
        standings=standings,
        lag=lasting(standings.lag_s),
        failing=failing,
        unindexed=unindexed,
    )


def lasting(seconds: float) -> str:
    """A length of time in its largest unit: ``3 hours``."""
    for unit, name in ((_DAY_S, "day"), (_HOUR_S, "hour"), (_MINUTE_S, "minute")):
        if seconds >= unit:
            count = int(seconds // unit)
            return f"{count} {name}{'s' if count > 1 else ''}"
    return "less than a minute" if seconds > 0 else "no time"


def _past(lags: Sequence[LagSample]) -> dict[str, Any] | None:
    if len(lags) < 2:
        return None
    longest = max(each.lag_s for each in lags)
    return {
        "plot": plot_of([(each.at, each.lag_s) for each in lags], holds=False),
        "longest": lasting(longest),
        "since": lags[0].at,
        "until": lags[-1].at,
    }


def _rows(states: Mapping[str, Mapping[str, Any]], now: float) -> list[dict[str, Any]]:
    lags = {name: now - each["behind_since"] if each["behind_since"] else 0.0 for name, each in _known(states)}
    longest = max(lags.values(), default=0.0)
    return [
        {
            "name": name,
            "behind": lasting(lags[name]) if lags[name] else "up to date",
            "width": round(_BAR * lags[name] / longest) if longest else 0,
            "head": each["head"],
            "error": each["error"] or "",
        }
        for name, each in _known(states)
    ]


def _known(states: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    return [
        (name, {"behind_since": each["behindSince"], "head": each["head"], "error": each["error"]})
        for name, each in states.items()
    ]
