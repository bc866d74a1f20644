"""Markdown of strangers: text comes through, nothing that runs, loads or styles does."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repo_server.pages.markdown import MARKDOWN_CHARS_MAX, sanitised_html
from tests.repo_server.pages.seen import Seen

HARMLESS = {
    *("p", "br", "hr", "h3", "h4", "h5", "h6", "em", "strong", "s", "code", "pre", "blockquote", "a"),
    *("ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td"),
}


def harmless(made: str) -> bool:
    seen = Seen(made)
    links = [str(url).partition(":")[0].lower() for url in seen.values("href") if ":" in str(url)]
    names = {name for name, _ in seen.attributes}
    return set(seen.names) <= HARMLESS and names <= {"href", "title", "rel", "start"} and set(links) <= {
        "http", "https", "mailto"
    }  # fmt: skip


def test_what_publishers_mean_is_shown() -> None:
    made = sanitised_html("# Title\n\nSome *text* and `code`, a [link](https://example.org).\n\n|a|b|\n|-|-|\n|1|2|\n")
    seen = Seen(made)
    assert {"h3", "em", "code", "a", "table", "td"} <= set(seen.names)
    assert "Title" in seen.texts
    assert seen.values("rel") == ["nofollow noopener noreferrer ugc"]


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<svg/onload=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt&colon;alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "[x](vbscript:x)",
        "![x](https://example.org/pixel.png)",
        "<a href='https://x' style='position:fixed'>x</a>",
        '[x](https://example.org "onmouseover=alert(1)")',
        "<style>*{display:none}</style>",
        "<iframe src=//example.org>",
        "<form action=//example.org><input name=q>",
        "`</code><script>alert(1)</script>`",
        "<https://example.org/\"onclick='x'>",
        "<!-- --><script>x</script>",
        "\x00\u202e<b>",
    ],
)
def test_nothing_that_does_harm_comes_through(text: str) -> None:
    assert harmless(sanitised_html(text))


@given(st.text(alphabet=st.sampled_from("<>&\"'`[]()!*_#|-:/ \nabjavscript="), max_size=200))
def test_no_text_becomes_more_than_it_may(text: str) -> None:
    assert harmless(sanitised_html(text))


@pytest.mark.parametrize(
    "piece", ["[", "![", "*a ", "`", "> ", "- ", "<", "[a](", "_*", "**x", "|a", "&", "\\", "~~", "[]", "1. ", "#"]
)
def test_long_texts_that_are_hard_to_read_take_bounded_time(piece: str) -> None:
    started = time.process_time()
    sanitised_html(piece * (MARKDOWN_CHARS_MAX // len(piece)))
    assert time.process_time() - started < 10


def test_what_is_longer_than_anybody_reads_is_cut() -> None:
    assert len(Seen(sanitised_html("x" * (MARKDOWN_CHARS_MAX + 9))).texts.strip()) == MARKDOWN_CHARS_MAX
