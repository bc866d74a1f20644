"""What the reference page on identifiers says is so."""

from __future__ import annotations

import re

import pytest

from opendatafabric.dataset_patterns import DatasetNamePattern
from opendatafabric.dataset_ref import DatasetUrl
from opendatafabric.did import DatasetId
from opendatafabric.errors import MalformedIdentifier
from opendatafabric.limits import IDENTIFIER_CHARS_MAX, URL_CHARS_MAX
from opendatafabric.multibase import FINAL_BASES, REFERENCE_BASES
from opendatafabric.multicodec import Multicodec
from opendatafabric.multihash import Multihash, physical_hash
from opendatafabric.names import DatasetName
from tests.source_tree import ROOT

PAGE = (ROOT / "docs/reference/identifiers.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    """Cells of the first table under a heading, without its head."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_hashes_begin_as_the_table_says() -> None:
    for _, algorithm, in_bytes, in_text in rows("Hashes"):
        label, code = re.fullmatch(r"(\S+), `(0x\w+)`", algorithm).groups()  # type: ignore[union-attr]
        written = Multihash(Multicodec.from_label(label), bytes(32))
        assert int(code, 16) == written.codec
        assert bytes(written).startswith(bytes.fromhex(in_bytes.strip("`")))
        assert str(written).startswith(in_text.strip("`"))
    assert f"`{physical_hash(b'hello')}`" in PAGE


def test_the_bases_are_those_that_are_read() -> None:
    table = {
        letter: what for cells in rows("Multibase") for letter in cells[0] if letter.isalpha() for what in [cells[3]]
    }
    assert set(table) == FINAL_BASES
    assert {letter for letter, what in table.items() if what.startswith("read")} == REFERENCE_BASES


def test_the_four_spellings_of_the_id_are_of_one_key() -> None:
    canonical, base58, did_key, folder = re.findall(r"^(\S+)  +\S.*$", PAGE.split("```text\n")[1].split("```")[0], re.M)
    found = DatasetId.from_text(canonical)
    assert str(found) == canonical
    assert (DatasetId.from_text(base58), found.did_key, found.multibase) == (found, did_key, folder)


def test_the_patterns_match_as_the_table_says() -> None:
    for pattern, matching, others in rows("Patterns"):
        if "/" in pattern:
            continue
        read = DatasetNamePattern(pattern.strip("`"))
        assert all(read.matches(DatasetName(name)) for name in re.findall(r"`(\S+)`", matching))
        assert not any(read.matches(DatasetName(name)) for name in re.findall(r"`(\S+)`", others))


@pytest.mark.parametrize("text", [".%", "%-", "a..%", "%.-%"])
def test_the_texts_that_are_no_patterns_are_none(text: str) -> None:
    assert f"`{text}`" in PAGE
    with pytest.raises(MalformedIdentifier):
        DatasetNamePattern(text)


def test_the_limits_are_the_ones_in_force() -> None:
    assert f"at most {IDENTIFIER_CHARS_MAX:,} characters" in PAGE
    assert f"at most {URL_CHARS_MAX:,} characters" in PAGE


def test_the_url_is_normalised_as_shown() -> None:
    assert str(DatasetUrl.from_text("http://Example.com:80")) == "http://example.com/"
    assert str(DatasetUrl.from_text("odf+https://Example.com:443/")) == "odf+https://Example.com:443/"
