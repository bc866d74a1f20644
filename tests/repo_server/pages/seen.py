"""What a page holds, as a browser would take it in."""

from __future__ import annotations

from html.parser import HTMLParser


class Seen(HTMLParser):
    """Names of elements, their attributes, and the text in them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.texts += data

    def values(self, attribute: str) -> list[str | None]:
        """Every value of an attribute."""
        return [value for name, value in self.attributes if name == attribute]
