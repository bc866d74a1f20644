"""What publishers write in Markdown, as HTML that can do no harm: no scripts, no styles, nothing that is loaded.

HTML inside is text. What the renderer makes is sanitised once more by an allow list, so that neither is trusted alone.
"""

from __future__ import annotations

from typing import Final

import nh3
from markdown_it import MarkdownIt

from repo_server.pages.templates import shown

MARKDOWN_CHARS_MAX: Final = 30_000
"""Longer texts are cut: the worst take the renderer a time that grows with the square of their length."""

_TAGS: Final = frozenset(
    {
        *("p", "br", "hr", "h3", "h4", "h5", "h6", "em", "strong", "s", "code", "pre", "blockquote", "a"),
        *("ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td"),
    }
)
_ATTRIBUTES: Final = {"a": {"href", "title"}, "ol": {"start"}}
_SCHEMES: Final = frozenset({"http", "https", "mailto"})
_HEADINGS: Final = {"h1": "h3", "h2": "h4", "h3": "h5", "h4": "h6", "h5": "h6"}
"""A text of a publisher stands below a heading of ours."""

_RENDERER: Final = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable(["table", "strikethrough"])


def sanitised_html(text: str) -> str:
    """``text`` as HTML that may stand in a page as it is; pictures are links to where they lie."""
    tokens = _RENDERER.parse(str(shown(text[:MARKDOWN_CHARS_MAX])))
    for token in tokens:
        token.tag = _HEADINGS.get(token.tag, token.tag)
    made = _RENDERER.renderer.render(tokens, _RENDERER.options, {})
    return nh3.clean(
        made,
        tags=set(_TAGS),
        attributes={tag: set(names) for tag, names in _ATTRIBUTES.items()},
        url_schemes=set(_SCHEMES),
        link_rel="nofollow noopener noreferrer ugc",
        strip_comments=True,
    )
