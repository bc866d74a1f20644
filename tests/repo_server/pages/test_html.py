"""Whatever is put into a page is text there, and nothing else."""

from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from repo_server.pages.html import Html, element, joined


class Seen(HTMLParser):
    """Names of elements and the text in them."""

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


def test_text_is_escaped_and_elements_are_not() -> None:
    assert element("p", "<b>&", element("em", '"')) == "<p>&lt;b&gt;&amp;<em>&quot;</em></p>"


def test_attributes_are_escaped_and_absent_ones_left_out() -> None:
    made = element("a", class_='x" onclick="y', aria_label="z", href=None)
    assert made == '<a class="x&quot; onclick=&quot;y" aria-label="z"></a>'


def test_void_elements_have_no_end() -> None:
    assert element("meta", charset="utf-8") == '<meta charset="utf-8">'


def test_what_is_missing_is_nothing() -> None:
    assert joined("a", None, Html("<br>")) == "a<br>"


def test_what_could_hide_text_is_shown() -> None:
    assert element("p", "a\u202eb\x00") == "<p>a\\u202eb\\u0000</p>"


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_text_makes_an_element_or_an_attribute(text: str, value: str) -> None:
    seen = Seen(element("p", text, title=value))
    assert (seen.names, [name for name, _ in seen.attributes]) == (["p"], ["title"])
