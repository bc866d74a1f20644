"""What administrators are shown: how far behind mirrors are, and how the node is."""

from __future__ import annotations

import pytest

from catalog.accounts import Account
from catalog.job_totals import JobTotal
from catalog.mirror_lags import LagSample
from catalog.standings import StandingTotals
from opendatafabric.did import AccountId, new_dataset_id
from opendatafabric.names import AccountName
from repo_server.mirror_states import MirrorState
from repo_server.pages.frame import Frame
from repo_server.pages.operator_pages import admin_page, lasting, mirrors_page
from tests.repo_server.pages.seen import Seen
from tests.repo_server.pages.test_templates import HOSTILE

NOW = 1_700_000_000.0
MIRROR: MirrorState = {
    "id": 1,
    "direction": "push",
    "target": "https://other.example/",
    "datasets": "alice/%",
    "schedule": "@hourly",
    "nextRunAt": NOW + 60,
    "lastRunAt": NOW - 60,
    "lastSuccessAt": None,
    "lastError": HOSTILE,
    "failures": 2,
    "lagS": 7_200.0,
    "states": {
        "alice/old": {"head": None, "behindSince": NOW - 7_200, "error": HOSTILE},
        "alice/new": {"head": "f1620" + "a" * 64, "behindSince": NOW - 3_600, "error": None},
        "alice/sound": {"head": "f1620" + "b" * 64, "behindSince": None, "error": None},
    },
}


def test_how_far_behind_a_dataset_is_is_told_and_drawn() -> None:
    seen = Seen(mirrors_page([MIRROR], {}, Frame(), now=NOW))
    for part in ("2 hours", "1 hour", "up to date"):
        assert part in seen.texts
    assert [width for width in seen.values("width") if width in {"60", "120"}].count("60") == 1


def test_how_far_it_was_behind_before_is_drawn_and_told() -> None:
    past = [LagSample(NOW - 9_000, 0.0), LagSample(NOW - 3_600, 10_800.0), LagSample(NOW, 0.0)]
    seen = Seen(mirrors_page([MIRROR], {1: past}, Frame(), now=NOW))
    assert "At most 3 hours behind" in seen.values("aria-label")
    seen = Seen(mirrors_page([MIRROR], {1: past[::2]}, Frame(), now=NOW))
    assert "Not once behind since 2023-11-14 19:43" in " ".join(seen.texts.split())


def test_what_another_server_said_stays_text() -> None:
    seen = Seen(mirrors_page([MIRROR], {}, Frame(), now=NOW))
    assert "img" not in seen.names
    assert HOSTILE in seen.texts


def test_without_mirrors_the_page_says_how_to_begin() -> None:
    assert "odf mirror add" in Seen(mirrors_page([], {}, Frame(), now=NOW)).texts


def accounts(count: int) -> list[Account]:
    return [
        Account(AccountId.from_text(str(new_dataset_id(number.to_bytes(32)))), AccountName(f"a{number}"))
        for number in range(count)
    ]


def test_the_node_is_told_with_what_is_wrong() -> None:
    page = admin_page(accounts(2), {"verify": JobTotal(running=3)}, StandingTotals(failing=4), ["the catalog"], Frame())
    seen = Seen(page)
    for part in ("a0", "a1", "verify", "3", "4", "Cannot be used now: the catalog"):
        assert part in seen.texts


def test_a_long_list_of_accounts_is_cut() -> None:
    assert "And 7 more" in Seen(admin_page(accounts(507), {}, StandingTotals(), [], Frame())).texts


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "no time"), (5, "less than a minute"), (60, "1 minute"), (7_300, "2 hours"), (200_000, "2 days")],
)
def test_lengths_of_time_are_told_in_their_largest_unit(seconds: float, said: str) -> None:
    assert lasting(seconds) == said
