"""The chapters of the specification that rules refer to."""

from __future__ import annotations

import re

import pytest

from opendatafabric.chain.rules import RULES, Rule
from opendatafabric.spec import SPEC_VERSION, section_url


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_of_the_chain_names_a_chapter(rule: Rule) -> None:
    assert section_url(rule.section).startswith("https://")


def test_a_chapter_is_found_by_the_anchor_of_its_heading() -> None:
    assert section_url("Metadata Chain").endswith("/open-data-fabric.md#metadata-chain")
    with pytest.raises(KeyError):
        section_url("Metadata chain")


def test_the_version_is_three_numbers() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", SPEC_VERSION)
