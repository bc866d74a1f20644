"""Whatever is put into a page is text there, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError

from repo_server.pages import templates
from repo_server.pages.templates import number, render, short, shown, size
from tests.repo_server.pages.seen import Seen

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=y>{{ 7 * 7 }}"


def made(source: str, **values: object) -> str:
    return templates._ENVIRONMENT.from_string(source).render(values)


def test_text_is_escaped() -> None:
    assert made("<p>{{ text }}</p>", text='<b>&"') == "<p>&lt;b&gt;&amp;&#34;</p>"


def test_text_from_a_macro_is_escaped_once() -> None:
    source = '{% import "macros.html" as show %}{{ show.code(text) }}'
    assert made(source, text="<&") == "<code>&lt;&amp;</code>"


def test_what_could_hide_text_is_shown() -> None:
    assert made("{{ text }}", text="a\u202eb\x00") == "a\\u202eb\\u0000"


def test_a_value_that_is_missing_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        render("reports.html", frame=None)


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_text_makes_an_element_or_an_attribute(text: str, value: str) -> None:
    seen = Seen(made('<p title="{{ value }}">{{ text }}</p>', text=text, value=value))
    assert (seen.names, [name for name, _ in seen.attributes]) == (["p"], ["title"])


def test_what_looks_like_a_template_is_text() -> None:
    assert "{{ 7 * 7 }}" in made("{{ text }}", text=HOSTILE)


@pytest.mark.parametrize("path", sorted(templates._FOLDER.glob("*.html")), ids=lambda path: path.name)
def test_no_template_marks_anything_as_safe_but_our_own_style_and_what_was_sanitised(path: Path) -> None:
    text = path.read_text()
    allowed = text.replace("{{ style | safe }}", "").replace("sanitised | safe", "")
    assert "safe" not in allowed
    assert "autoescape" not in allowed


@pytest.mark.parametrize("path", sorted(templates._FOLDER.glob("*.html")), ids=lambda path: path.name)
def test_no_template_has_what_the_policy_forbids(path: Path) -> None:
    seen = Seen(path.read_text())
    assert not [name for name, _ in seen.attributes if name == "style" or name.startswith("on")]
    assert not [url for url in seen.values("src") + seen.values("href") if url and "://" in url]


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (1_023, "1,023 bytes"), (1_536, "1.5 KiB"), (1_047_552, "1023 KiB"), (5 << 30, "5 GiB")],
)
def test_sizes_are_told_in_units_people_read(count: int, text: str) -> None:
    assert size(count) == text


def test_numbers_have_separators_and_long_names_an_ellipsis() -> None:
    assert (number(1_234_567), short("f1620" + "a" * 64), short("abc")) == ("1,234,567", "f1620aaaaaaaaaaaa…", "abc")


def test_what_is_no_text_stays_what_it_is() -> None:
    assert shown(7) == 7
