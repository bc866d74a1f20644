"""Pictures that the documentation shows."""

from __future__ import annotations

from tests.browser.screenshots import PICTURES, pictures
from tests.source_tree import ROOT


def test_every_picture_is_kept_and_shown_and_there_are_no_others() -> None:
    names = {name for name, _, _ in pictures()}
    assert {path.name for path in PICTURES.iterdir()} == names
    gallery = (ROOT / "docs" / "explanation" / "pages-in-pictures.md").read_text()
    assert not [name for name in sorted(names) if f"](../pictures/{name})" not in gallery]
