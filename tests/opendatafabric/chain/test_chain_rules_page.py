"""The reference page of the rules is complete and true."""

from __future__ import annotations

import re
from pathlib import Path

from opendatafabric.chain.rules import RULES

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "chain-rules.md"


def test_the_page_has_every_rule_in_the_order_they_are_asked() -> None:
    rows = re.findall(
        r"^\| ([A-Z]\d+) \| (.*?) \| (.*?) \| (\w+) \| (.*?) \| (.*?) \|$", PAGE.read_text(), re.MULTILINE
    )
    expected = [
        (
            rule.id,
            ", ".join(kind.__name__ for kind in rule.applies_to) or "every event",
            rule.summary.replace("``", "`"),
            rule.effect.value,
            rule.error.value,
            rule.section,
        )
        for rule in RULES
    ]
    assert rows == expected
