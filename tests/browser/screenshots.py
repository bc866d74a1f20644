"""Pictures of the pages for the documentation, in ``docs/pictures``: each on a desktop, in the dark, and on a phone.

Run it: python -m tests.browser.screenshots
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from tests.browser.site import DARK, DESKTOP, ODD, PHONE, Site, site
from tests.source_tree import ROOT

PICTURES: Final = ROOT / "docs" / "pictures"
SHOWN: Final = (
    *("home", "organisation", "dataset", "answer", "mistake", "lineage", "log", "block", "reports", "report", "damage"),
    *("tokens", "mirrors", "administration", "absent"),
)
SCREENS: Final[Mapping[str, Mapping[str, Any]]] = {
    "": DESKTOP,
    "-dark": {**DESKTOP, **DARK},
    "-phone": {**PHONE, "device_scale_factor": 1},
}


def pictures() -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """The file name of each, the page, and on what it is looked at."""
    for page_name in SHOWN:
        for suffix, options in SCREENS.items():
            yield f"{page_name}{suffix}.png", page_name, options


async def take(running: Site, folder: Path) -> None:
    """All pictures."""
    await _without_odd_ones(running)
    await _until_records_are_shown(running)
    for file_name, page_name, options in pictures():
        async with running.opened(**options, **running.keeps(page_name)) as page:
            await running.go(page, page_name)
            await page.screenshot(path=folder / file_name)


async def _without_odd_ones(running: Site) -> None:
    """Lists show what a reader could meet."""
    for name in ODD:
        entry = await running.server.repository.find(DatasetAlias.from_text(f"alice/{name}"))
        await running.server.catalog.datasets.set_visibility(entry.id, Visibility.UNLISTED)


async def _until_records_are_shown(running: Site) -> None:
    """They are read when the page is first looked at."""
    async with running.opened() as page:
        shown = False
        while not shown:
            await running.go(page, "dataset")
            shown = await page.get_by_role("heading", name="Newest records").is_visible()


async def main() -> None:
    """Into the documentation."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        async with site(Path(folder)) as running:
            await take(running, PICTURES)


if __name__ == "__main__":
    asyncio.run(main())
