"""A badge that says how a dataset stands: a small picture, and the JSON that others draw badges from."""

from __future__ import annotations

from typing import Any, Final

from verify.standing import Standing

LABEL: Final = "dataset"
_COLORS: Final = {
    Standing.VERIFIED: ("brightgreen", "#2f7d32"),
    Standing.FAILING: ("red", "#b3261e"),
    Standing.STALE: ("yellow", "#8a6100"),
    Standing.UNKNOWN: ("lightgrey", "#6a6a6a"),
}
"""What shields.io calls the colour, and ours: dark enough to read white letters on."""

_LETTER_PX: Final = 6.6
_MARGIN_PX: Final = 6


def badge_json(standing: Standing, *, fresh_s: int) -> dict[str, Any]:
    """For the endpoint badge of shields.io."""
    return {
        "schemaVersion": 1,
        "label": LABEL,
        "message": standing.value,
        "color": _COLORS[standing][0],
        "isError": standing is Standing.FAILING,
        "cacheSeconds": fresh_s,
    }


def badge_svg(standing: Standing) -> str:
    """The picture. All that is in it is ours, so nothing needs to be escaped."""
    left, right = _width(LABEL), _width(standing.value)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img"'
        f' aria-label="{LABEL}: {standing.value}"><title>{LABEL}: {standing.value}</title>'
        f'<rect width="{left}" height="20" fill="#444"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{_COLORS[standing][1]}"/>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f'<text x="{left / 2}" y="14">{LABEL}</text><text x="{left + right / 2}" y="14">{standing.value}</text>'
        "</g></svg>"
    )


def _width(text: str) -> int:
    return round(len(text) * _LETTER_PX) + 2 * _MARGIN_PX
