"""The specification that this house follows: its version, its chapters, and where to read them."""

from __future__ import annotations

from typing import Final

SPEC_VERSION: Final = "0.37.0"
"""Version of the schemas that blocks are written in; blocks of 0.38 and 0.39 are read and kept byte for byte."""

SPEC_URL: Final = "https://github.com/open-data-fabric/open-data-fabric/blob/master/open-data-fabric.md"

SECTIONS: Final = frozenset(
    {
        "Aliases and References",
        "Checkpoint",
        "Common Data Schema",
        "Data Hashing",
        "Data Ingestion",
        "Dataset",
        "Dataset Identity",
        "Dataset Layout",
        "Derivative Transformations",
        "Hash Representation",
        "Manifest",
        "Metadata Chain",
        "Metadata Format",
        "Offset",
        "Polling Sources",
        "Query Evolution",
        "Schema",
        "Schema Evolution",
        "Schema Format",
        "Simple Transfer Protocol",
        "Smart Transfer Protocol",
        "Source Types",
        "System Time",
        "Unique Identifiers",
        "Watermark",
    }
)
"""Headings that the rules of the chain refer to, and those of the formats and protocols around them."""


def section_url(heading: str) -> str:
    """Address of a chapter, e.g. of ``Rule.section``; ``heading`` is one of ``SECTIONS``, else KeyError."""
    if heading not in SECTIONS:
        raise KeyError(heading)
    return f"{SPEC_URL}#{heading.lower().replace(' ', '-')}"
