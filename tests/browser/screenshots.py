"""Pictures of the pages for the documentation, written to ``docs/pictures``.

Run it: python -m tests.browser.screenshots
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.browser.site import DARK, DESKTOP, PHONE, Site, site
from tests.source_tree import ROOT

PICTURES: Final = ROOT / "docs" / "pictures"
SHOTS: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "home": ("home", DESKTOP),
    "dataset": ("dataset", DESKTOP),
    "dataset-dark": ("dataset", {**DESKTOP, **DARK}),
    "dataset-phone": ("dataset", {**PHONE, "device_scale_factor": 1}),
    "answer": ("answer", DESKTOP),
    "lineage": ("lineage", DESKTOP),
    "lineage-dark": ("lineage", {**DESKTOP, **DARK}),
    "lineage-phone": ("lineage", {**PHONE, "device_scale_factor": 1}),
    "block": ("block", DESKTOP),
    "damage": ("damage", DESKTOP),
    "report": ("report", DESKTOP),
    "tokens": ("tokens", DESKTOP),
}


async def take(running: Site, folder: Path) -> None:
    """All pictures."""
    for name, (page_name, options) in SHOTS.items():
        async with running.opened(**options, **running.keeps(page_name)) as page:
            await running.go(page, page_name)
            await page.screenshot(path=folder / f"{name}.png")


async def main() -> None:
    """Into the documentation."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        async with site(Path(folder)) as running:
            await take(running, PICTURES)


if __name__ == "__main__":
    asyncio.run(main())
