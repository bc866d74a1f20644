"""The files of pages are named by what is in them."""

from __future__ import annotations

import re

from repo_server.pages.static_files import FILES, static_path


def test_a_file_is_asked_for_by_a_name_that_holds_a_hash() -> None:
    path = static_path("app.css")
    assert re.fullmatch(r"/static/app\.[0-9a-f]{12}\.css", path)
    assert path.removeprefix("/static/") in FILES


def test_kinds_are_those_that_browsers_run() -> None:
    kinds = {name.rpartition(".")[2]: each.content_type for name, each in FILES.items()}
    assert kinds == {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


def test_nothing_in_them_loads_anything_from_elsewhere() -> None:
    texts = [each.content.decode().replace("http://www.w3.org/2000/svg", "") for each in FILES.values()]
    assert not [text for text in texts if "://" in text or "@import" in text or "url(" in text]
